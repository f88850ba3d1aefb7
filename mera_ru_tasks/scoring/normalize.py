"""Normalize text for comparison, by the leaderboard's rule and by the more tolerant rule of answer extraction."""

from __future__ import annotations

import functools
import re
import string
import unicodedata
from itertools import islice

_DELETED = re.escape(string.punctuation + "«»‹›„“”‟‘’‚‛—–‒―‐‑−…")
_PUNCTUATION = re.compile(f"[{_DELETED}]+")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# Matches a character that normalization always keeps: no punctuation, no white space, and no letter of an article.
_KEPT = re.compile(rf"[^{_DELETED}\sanethANETH]")

# Matches a word with its combining accents, including an accent on the last letter.
WORD = re.compile(r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*")

# Latin letters and Greek capitals that look like Cyrillic letters.
LOOK_ALIKES = str.maketrans("ABCEHKMOPTXYaceopxyΑΒΓΕ", "АВСЕНКМОРТХУасеорхуАВГЕ")
# In lower-case text the original case is unknown, so this table includes the look-alikes of capitals.
_LOWER_LOOK_ALIKES = str.maketrans("abcehkmoptxy", "авсенкмортху")
_LATIN_OR_GREEK = re.compile("[A-Za-zΑ-Ω]")
_CYRILLIC = re.compile("[А-Яа-яЁё]")

# Matches stress marks on vowels, including the spacing accent. A mark on a consonant is an error and is kept.
_STRESS = re.compile("(?<=[аеиоуыэюяѣaeiouyАЕИОУЫЭЮЯAEIOUY\u0308])[\u0300\u0301\u00b4]")

# Invisible characters that can occur inside a word. Each needs a pass over the response, so the list is short.
_INVISIBLE_IN_WORDS = "\u00ad\u200b\u200c\u200d\u2060\ufeff"


def normalize(text: str) -> str:
    """Convert the text to lower case, delete punctuation and English articles, and collapse white space.

    This is the answer normalization of SQuAD's official evaluation script (Rajpurkar et al. 2016). In addition, Russian
    quotation marks and dashes are deleted.
    """
    plain = " ".join(_PUNCTUATION.sub("", text.lower()).split())
    if "a" in plain or "the" in plain:
        plain = " ".join(_ARTICLES.sub(" ", plain).split())
    return plain


def is_longer(text: str, length: int) -> bool:
    """Return True if the normalized text certainly has more than `length` characters.

    Most responses are long explanations, which this check rejects without normalizing them.
    """
    kept = _KEPT.finditer(text)
    return next(islice(kept, length, None), None) is not None


@functools.lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Normalize the text, remove stress marks and invisible characters, and replace ё and look-alikes."""
    plain = normalize(unicodedata.normalize("NFKC", without_stress(without_invisible(text))))
    return plain.replace("ё", "е").translate(_LOWER_LOOK_ALIKES)


def lower(text: str) -> str:
    """Convert the text to lower case without changing its length; Python would convert `İ` to two characters."""
    return text.replace("İ", "I").lower()


def in_cyrillic(text: str) -> str:
    """Replace Latin and Greek look-alikes with Cyrillic letters in every word that contains a Cyrillic letter."""
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
