"""The leaderboard's reading of a response and its exact match, the pipeline `strict-match`.

MERA scores the whole response and the text behind its last `Ответ:`, after SQuAD's normalisation made to work for
Russian (Rajpurkar et al. 2016, the official evaluation script: lower case, no punctuation, no English articles, single
spaces). Our number must equal the leaderboard's on every response, so nothing here is cleverer than that rule.
"""

from __future__ import annotations

import functools
import re
import string
from collections.abc import Collection
from itertools import islice

MARKER = "Ответ:"

_DELETED = re.escape(string.punctuation + "«»‹›„“”‟‘’‚‛—–‒―‐‑−…")
_PUNCTUATION = re.compile(f"[{_DELETED}]+")
_ARTICLES = re.compile(r"\b(a|an|the)\b")
# A character that normalisation keeps, whatever stands around it: no letter of an article.
_KEPT = re.compile(rf"[^{_DELETED}\sanethANETH]")


def normalise(text: str) -> str:
    """Lower-case `text`, delete punctuation, blank out English articles, and collapse white space."""
    plain = " ".join(_PUNCTUATION.sub("", text.lower()).split())
    if "a" in plain or "the" in plain:
        plain = " ".join(_ARTICLES.sub(" ", plain).split())
    return plain


def readings(response: str) -> list[str]:
    """The texts that may match: the whole response, and what follows the last marker unless that is empty."""
    whole = response.strip()
    _, marker, after = response.rpartition(MARKER)
    after = after.strip()
    return [whole, after] if marker and after else [whole]


@functools.lru_cache(maxsize=4096)
def accepted_answers(reference: str, *, phrase: bool) -> tuple[str, ...]:
    """The normalised answers that `reference` accepts.

    Args:
        reference: the row's `outputs`; for a riddle a list split on `;`.
        phrase: whether the row is a riddle; elsewhere the reference is one string, letters and order included.

    Returns:
        Normalised answers, without empty ones: a reference that normalises to nothing matches nothing.
    """
    entries = reference.split(";") if phrase else [reference]
    return tuple(answer for answer in map(normalise, entries) if answer)


def exact_match(response: str, accepted: Collection[str]) -> int:
    """1 if a reading of `response` normalises to one of the `accepted` answers, else 0."""
    longest = max(map(len, accepted), default=0)
    for reading in readings(response):
        if not is_longer(reading, longest) and normalise(reading) in accepted:
            return 1
    return 0


def is_longer(text: str, length: int) -> bool:
    """Whether `text` is sure to be longer than `length` once normalised: it keeps more characters than that.

    Most responses are whole explanations, which this tells from an answer long before they are normalised.
    """
    kept = _KEPT.finditer(text)
    return next(islice(kept, length, None), None) is not None
