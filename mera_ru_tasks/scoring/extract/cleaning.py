"""Step 3 of reading a response: its first lines, cleaned of markup and of what nobody sees."""

from __future__ import annotations

import html
import re
import unicodedata

from mera_ru_tasks.scoring.extract.text import LIMIT
from mera_ru_tasks.scoring.normalize import WORD, without_stress

# An answer has at most so many lines: a long list is none.
_MOST_LINES = 40
_SPECIAL_TOKEN = re.compile(
    r"""
    <[|｜][^<>|｜\n]{1,40}[|｜]>                    # <|im_end|>, <|eot_id|>, DeepSeek's <｜end▁of▁sentence｜>
    | </?s> | </?(?:bos|eos|pad|unk|eot|end)>
    | <(?:start|end)_of_turn>                       # Gemma
    | \[/?(?:INST|NL|EOS|BOS|SEP|PAD|UNK|CLS)\]     # Mistral, YandexGPT, encoders
    | <unused\d{1,3}> | <0x0A>
    | <br[ ]?/?> | </?(?:p|li|ul|ol|div|pre)>       # tags that end a line
    | <[|｜][^<>|｜\n]{0,40}$                       # one that generation cut off
    """,
    re.IGNORECASE | re.VERBOSE,
)
_TAG = re.compile(
    r"</?(?:[biu]|(?i:em|strong|span|code|answer|ответ|font|mark|sub|sup|big|small|h[1-6])(?:\s[^<>\n]{0,100})?)>"
)
_LATEX = re.compile(r"\\[A-Za-z]+|\\[^\w\n]|\$")
# Text that is clean as it is, as most is.
_CLEAN = re.compile(r"[А-Яа-яЁёA-Za-z0-9 .,;:!?()\"—\n-]*")
_LINE_END = re.compile("\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffd\U000e0000-\U000e007f]"
)
# What NFKC leaves of spaces other than the plain one, and the mark that tokenizers write for a space.
_SPACE = re.compile("[\t\x1f\u1680\u2581]")
_SPACES = re.compile(" {2,}")
_QUOTE = re.compile("[«»‹›„“”‟″〝〞「」『』]")
_FENCE = re.compile(r"^ *```[A-Za-z]* *$", re.MULTILINE)
_STAR_BULLET = re.compile(r"^[ >]*[*+](?= )", re.MULTILINE)
_LINE_MARKUP = re.compile(r"^[ >]*(?:#{1,6}(?= )|>+) *", re.MULTILINE)
_EMPHASIS = re.compile(r"[*`]+|~~")
_UNDERSCORES = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


def clean(text: str) -> str:
    r"""The first lines of a text, without markup, special tokens, invisible characters and stress marks.

    Returns:
        At most `LIMIT` characters of whole lines; empty if the first line alone is longer. Special tokens are line
        ends, bullets are `-`, quotes are `"`, every space is a plain one, and compatibility forms (full-width, circled)
        are plain characters. It begins with `\n` where the text begins on a later line than the first.
    """
    stripped = text.lstrip()
    below = "\n" in text[: len(text) - len(stripped)]
    piece = _first_lines(stripped)
    piece = _QUOTE.sub('"', html.unescape(piece) if "&" in piece else piece)
    if "  " in piece or not _CLEAN.fullmatch(piece):
        piece = _without_markup(piece)
    return ("\n" if below else "") + piece.rstrip()


def _without_markup(piece: str) -> str:
    piece = _LINE_END.sub("\n", without_stress(piece))
    piece = _first_lines(unicodedata.normalize("NFKC", piece))  # which may make eighteen characters of one
    piece = _TAG.sub("", _SPECIAL_TOKEN.sub("\n", piece))
    piece = _LATEX.sub(" ", piece)
    piece = _INVISIBLE.sub("", piece)
    piece = _SPACES.sub(" ", _SPACE.sub(" ", piece))
    piece = _LINE_MARKUP.sub("", _STAR_BULLET.sub("-", _FENCE.sub("", piece)))
    piece = _EMPHASIS.sub("", piece)
    return _UNDERSCORES.sub("", piece) if "_" in piece else piece


def _first_lines(text: str) -> str:
    """At most `LIMIT` characters of a text, in whole lines."""
    return text if len(text) <= LIMIT else text[: max(0, text.rfind("\n", 0, LIMIT + 1))]


def lines_of(text: str) -> list[str]:
    """The first lines of a cleaned text from the first with a word on, stripped; a later one without words is empty."""
    first = WORD.search(text)
    begin = text.rfind("\n", 0, first.start()) + 1 if first else len(text)
    lines = text[begin:].rstrip().split("\n", _MOST_LINES)[:_MOST_LINES] if first else []
    lines = [line.strip() if WORD.search(line) else "" for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines
