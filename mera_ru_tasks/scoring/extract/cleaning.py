"""Step 3 of answer extraction: the text in lines, without markup and invisible characters."""

from __future__ import annotations

import html
import re
import unicodedata

from mera_ru_tasks.scoring.normalize import WORD, without_stress

# Patterns only run on text of at most twice this length. A longer first line holds no answer.
LIMIT = 2000

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
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~")
_EMPHASIS = re.compile(r"[*`]+|~~")
_CHECKED, _UNCHECKED = re.compile(r"\[[xXхХ]\](?= )"), re.compile(r"(?<=- )\[ \](?= )")
_SENTENCE_START = re.compile(r"[.!?\n]\s|$")
_UNDERSCORES = re.compile(r"(?<![^\W_])_+|_+(?![^\W_])")


def clean(text: str) -> str:
    r"""Return a text without markup, special tokens, invisible characters, struck-out text and stress marks.

    Of a long text only whole lines from its first and its last `LIMIT` characters are kept; nothing if the first line
    alone is longer. Special tokens become line ends, bullets become `-`, quotes become `"`, every space is a plain one,
    and compatibility forms (full-width, circled) become plain characters.
    """
    piece = _without_middle(text.lstrip())
    piece = _QUOTE.sub('"', html.unescape(piece) if "&" in piece else piece)
    if "  " in piece or not _CLEAN.fullmatch(piece):
        piece = _without_markup(piece)
    return piece.rstrip()


def _without_markup(piece: str) -> str:
    piece = _LINE_END.sub("\n", without_stress(piece))
    piece = _without_middle(unicodedata.normalize("NFKC", piece))  # which may make eighteen characters of one
    piece = _TAG.sub("", _SPECIAL_TOKEN.sub("\n", piece))
    piece = _STRUCK.sub("", _LATEX.sub(" ", piece))
    piece = _CHECKED.sub("✅", _UNCHECKED.sub("❌", _INVISIBLE.sub("", piece)))
    piece = _SPACES.sub(" ", _SPACE.sub(" ", piece))
    piece = _LINE_MARKUP.sub("", _STAR_BULLET.sub("-", _FENCE.sub("", piece)))
    piece = _EMPHASIS.sub("", piece)
    return _UNDERSCORES.sub("", piece) if "_" in piece else piece


def _without_middle(text: str) -> str:
    """Keep whole lines from the beginning of a long text and whole sentences from its end."""
    if len(text) <= 2 * LIMIT:
        return text
    first = text[: max(0, text.rfind("\n", 0, LIMIT + 1))]
    last = text[-LIMIT:]
    start = _SENTENCE_START.search(last)
    return f"{first}\n{last[start.end() if start else 0 :]}" if first else ""


def lines_of(text: str) -> list[str]:
    """Return the lines of a cleaned text from the first with a word, stripped; later lines without words are empty."""
    lines = [line.strip() if WORD.search(line) else "" for line in text.split("\n")]
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    return lines[first:]
