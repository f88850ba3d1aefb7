"""Step 3 of reading a response: its text, cleaned; and what the other steps share of handling text."""

from __future__ import annotations

import re
import unicodedata

# An answer that needs more characters than this is none: patterns only ever run on a piece of this length.
LIMIT = 4000

WORD = re.compile(r"[^\W_]+")


def lower(text: str) -> str:
    """Lower case of the same length, so that positions agree; only the Turkish dotted capital would change it."""
    return text.replace("İ", "I").lower()


_SPECIAL_TOKEN = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>|\[/?INST\]|<br ?/?>|</?p>", re.IGNORECASE
)
_TAG = re.compile(
    r"</?(?:b|i|u|em|strong|span|div|code|answer|ответ|font|mark|h[1-6])(?: [^<>\n]{0,100})?>", re.IGNORECASE
)
_LATEX = re.compile(r"\\(?:boxed|text(?:bf|it|rm)?|math(?:bf|rm|it)|displaystyle)\b|\\[()\[\]]|\$")
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufe0e\ufe0f\ufeff]")
_SPACE = re.compile(r"[^\S\n]+")
_STRESS = re.compile("(?<=[аеёиоуыэюяАЕЁИОУЫЭЮЯ])[\u0300\u0301]")


def clean(text: str) -> str:
    """The first `LIMIT` characters without special tokens, tags, LaTeX, invisible characters and stress marks.

    Special tokens become line ends, and every space, also the no-break one, becomes a plain space.
    """
    text = unicodedata.normalize("NFC", text.lstrip()[:LIMIT]).replace("\r", "\n")
    text = _LATEX.sub("", _TAG.sub("", _SPECIAL_TOKEN.sub("\n", text)))
    return without_stress(_SPACE.sub(" ", _INVISIBLE.sub("", text))).strip()


def without_stress(text: str) -> str:
    """The text without stress marks on vowels; a mark on a consonant is a fault of the text and stays."""
    return _STRESS.sub("", text)


BULLET = re.compile(r"^[\s>#*_]*(?:[-•–—·]|\d{1,2}[.)])\s+")


def lines_of(text: str) -> list[str]:
    """The first block of lines: from the first line that is not empty to the next that is."""
    lines: list[str] = []
    for line in text.split("\n"):
        if WORD.search(line):
            lines.append(line)
        elif lines:
            break
    return lines
