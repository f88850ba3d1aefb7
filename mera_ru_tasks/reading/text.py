"""Step 3 of reading a response: its text, cleaned; and what the other steps share of handling text."""

from __future__ import annotations

import functools
import html
import re
import unicodedata

from mera_ru_tasks import strict

# An answer whose first line needs more characters than this is none. Patterns only ever run on pieces of this length.
LIMIT = 2000
# An answer has at most so many lines: a long list is none.
_MOST_LINES = 40

# A word with its accents, so that a mark on a consonant is not lost with the edges of a phrase.
WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")

# Characters that look like Cyrillic ones: Latin, and Greek capitals.
LOOK_ALIKES = str.maketrans("ABCEHKMOPTXYaceopxyΑΒΓΕ", "АВСЕНКМОРТХУасеорхуАВГЕ")
# In lower case, where nothing tells any more which capital a letter was.
_LOWER_LOOK_ALIKES = str.maketrans("abcehkmoptxy", "авсенкмортху")
_CYRILLIC = re.compile("[А-Яа-яЁё]")


def lower(text: str) -> str:
    """Lower case of the same length, so that positions agree; only the Turkish dotted capital would change it."""
    return text.replace("İ", "I").lower()


def in_cyrillic(text: str) -> str:
    """The text with Latin look-alikes made Cyrillic in each word that has Cyrillic letters."""
    return WORD.sub(lambda word: word[0].translate(LOOK_ALIKES) if _CYRILLIC.search(word[0]) else word[0], text)


# Stress marks on vowels, also the spacing one; a mark on a consonant is a fault of the text and stays.
_STRESS = re.compile("(?<=[аеиоуыэюяѣaeiouyАЕИОУЫЭЮЯAEIOUY\u0308])[\u0300\u0301\u00b4]")


def without_stress(text: str) -> str:
    """The text without stress marks on vowels, composed."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _STRESS.sub("", unicodedata.normalize("NFD", text)))


@functools.lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """The form in which answers are compared: as the leaderboard does, and without stress, ё and look-alikes."""
    plain = strict.normalise(unicodedata.normalize("NFKC", without_stress(text)))
    return plain.replace("ё", "е").translate(_LOWER_LOOK_ALIKES)


# The invisible characters that may stand inside the marker's word: they are dropped from the whole response, one fast
# pass for each, hence so few.
_COMMON_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"


def without_invisible(text: str) -> str:
    """The text without soft hyphens, zero-width characters and byte-order marks."""
    if not text.isascii():
        for character in _COMMON_INVISIBLE:
            text = text.replace(character, "")
    return text


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
_CLEAN = re.compile(r"(?:[А-Яа-яЁёA-Za-z0-9.,;:!?()\"—\n-]| (?! ))*")
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
    if not _CLEAN.fullmatch(piece):
        piece = _without_markup(piece)
    return ("\n" if below else "") + piece.rstrip()


def _without_markup(piece: str) -> str:
    piece = _LINE_END.sub("\n", without_stress(piece))
    piece = _first_lines(unicodedata.normalize("NFKC", piece))  # which may make eighteen characters of one
    piece = _TAG.sub("", _SPECIAL_TOKEN.sub("\n", piece))
    piece = _LATEX.sub(" ", html.unescape(piece) if "&" in piece else piece)
    piece = _QUOTE.sub('"', _INVISIBLE.sub("", piece))
    piece = _SPACES.sub(" ", _SPACE.sub(" ", piece))
    piece = _LINE_MARKUP.sub("", _STAR_BULLET.sub("-", _FENCE.sub("", piece)))
    piece = _EMPHASIS.sub("", piece)
    return _UNDERSCORES.sub("", piece) if "_" in piece else piece


def _first_lines(text: str) -> str:
    """At most `LIMIT` characters of a text, in whole lines."""
    return text if len(text) <= LIMIT else text[: max(0, text.rfind("\n", 0, LIMIT + 1))]


BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")


def lines_of(text: str) -> list[str]:
    """The first lines of a cleaned text from the first with a word on, stripped; a later one without words is empty."""
    first = WORD.search(text)
    begin = text.rfind("\n", 0, first.start()) + 1 if first else len(text)
    lines = text[begin:].rstrip().split("\n", _MOST_LINES)[:_MOST_LINES] if first else []
    lines = [line.strip() if WORD.search(line) else "" for line in lines]
    while lines and not lines[-1]:
        lines.pop()
    return lines
