"""Normalize text for comparison: the leaderboard's rule, and what answer extraction forgives beyond it."""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from itertools import islice

_DELETED = re.escape(string.punctuation + "«»‹›„“”‟‘’‚‛—–‒―‐‑−…")
_PUNCTUATION = re.compile(f"[{_DELETED}]+")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# A character that normalization always keeps: neither punctuation nor white space nor a letter of an article.
_KEPT = re.compile(rf"[^{_DELETED}\sanethANETH]")

# A word with its combining accents, so that an accent on its last letter is not cut off.
WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")

# Characters that look like Cyrillic ones: Latin letters and Greek capitals.
LOOK_ALIKES = str.maketrans("ABCEHKMOPTXYaceopxyΑΒΓΕ", "АВСЕНКМОРТХУасеорхуАВГЕ")
# In lower case it is unknown which capital a letter was, so these include the look-alikes of capitals.
_LOWER_LOOK_ALIKES = str.maketrans("abcehkmoptxy", "авсенкмортху")
_LATIN_OR_GREEK = re.compile("[A-Za-zΑ-Ω]")
_CYRILLIC = re.compile("[А-Яа-яЁё]")

# Stress marks on vowels, including the spacing accent. A mark on a consonant is an error in the text and stays.
_STRESS = re.compile("(?<=[аеиоуыэюяѣaeiouyАЕИОУЫЭЮЯAEIOUY\u0308])[\u0300\u0301\u00b4]")

# The invisible characters that can occur inside a word. Each costs one pass over the response, so the list is short.
_INVISIBLE_IN_WORDS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"


def normalize(text: str) -> str:
    """Lower-case the text, delete punctuation, drop English articles and collapse white space.

    This is SQuAD's answer normalization (Rajpurkar et al. 2016, the official evaluation script), extended to the
    quotation marks and dashes of Russian.
    """
    plain = " ".join(_PUNCTUATION.sub("", text.lower()).split())
    if "a" in plain or "the" in plain:
        plain = " ".join(_ARTICLES.sub(" ", plain).split())
    return plain


def is_longer(text: str, length: int) -> bool:
    """Return True if the normalized text surely has more than `length` characters.

    Most responses are long explanations. This check rules them out without normalizing them.
    """
    kept = _KEPT.finditer(text)
    return next(islice(kept, length, None), None) is not None


@functools.lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Normalize the text, and also drop stress marks, invisible characters, ё and look-alikes."""
    plain = normalize(unicodedata.normalize("NFKC", without_stress(without_invisible(text))))
    return plain.replace("ё", "е").translate(_LOWER_LOOK_ALIKES)


def lower(text: str) -> str:
    """Lower-case the text and keep its length, so that positions agree (`İ` would become two characters)."""
    return text.replace("İ", "I").lower()


def in_cyrillic(text: str) -> str:
    """Replace Latin and Greek look-alikes in every word that also has Cyrillic letters."""
    if not _LATIN_OR_GREEK.search(text):
        return text
    return WORD.sub(lambda word: word[0].translate(LOOK_ALIKES) if _CYRILLIC.search(word[0]) else word[0], text)


def without_stress(text: str) -> str:
    """Remove stress marks from vowels and compose the text (NFC)."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", _STRESS.sub("", unicodedata.normalize("NFD", text)))


def without_invisible(text: str) -> str:
    """Remove soft hyphens, zero-width characters and byte-order marks."""
    if not text.isascii():
        for character in _INVISIBLE_IN_WORDS:
            text = text.replace(character, "")
    return text
