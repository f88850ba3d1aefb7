"""What the steps of reading share of handling text: words, bullets, look-alikes, stress marks."""

from __future__ import annotations

import functools
import re
import unicodedata

from mera_ru_tasks.scoring import strict

# An answer whose first line needs more characters than this is none. Patterns only ever run on pieces of this length.
LIMIT = 2000

# A word with its accents, so that a mark on a consonant is not lost with the edges of a phrase.
WORD = re.compile(r"[^\W_](?:[^\W_]|[\u0300-\u036f])*")

# What begins a line of a list, in cleaned text.
BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")

# Characters that look like Cyrillic ones: Latin, and Greek capitals.
LOOK_ALIKES = str.maketrans("ABCEHKMOPTXYaceopxyΑΒΓΕ", "АВСЕНКМОРТХУасеорхуАВГЕ")
# In lower case, where nothing tells any more which capital a letter was.
_LOWER_LOOK_ALIKES = str.maketrans("abcehkmoptxy", "авсенкмортху")
_LATIN_OR_GREEK = re.compile("[A-Za-zΑ-Ω]")
_CYRILLIC = re.compile("[А-Яа-яЁё]")


def lower(text: str) -> str:
    """Lower case of the same length, so that positions agree; only the Turkish dotted capital would change it."""
    return text.replace("İ", "I").lower()


def in_cyrillic(text: str) -> str:
    """The text with Latin look-alikes made Cyrillic in each word that has Cyrillic letters."""
    if not _LATIN_OR_GREEK.search(text):
        return text
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
    """The form in which answers are compared: the leaderboard's, without stress, ё, look-alikes and invisible signs."""
    plain = strict.normalise(unicodedata.normalize("NFKC", without_stress(without_invisible(text))))
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
