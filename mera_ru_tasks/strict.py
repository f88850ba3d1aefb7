"""The leaderboard's reading of a response and its exact match, the pipeline `strict-match`.

MERA scores the whole response and the text behind its last `Ответ:`, after SQuAD's normalisation made to work for
Russian (Rajpurkar et al. 2016, the official evaluation script: lower case, no punctuation, no English articles, single
spaces). Our number must equal the leaderboard's on every response, so nothing here is cleverer than that rule.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable

MARKER = "Ответ:"

_DELETED = str.maketrans("", "", string.punctuation + "«»‹›„“”‟‘’‚‛—–‒―‐‑−…")
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalise(text: str) -> str:
    """Lower-case `text`, delete punctuation, blank out English articles, and collapse white space."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_DELETED)).split())


def readings(response: str) -> list[str]:
    """The texts that may match: the whole response, and what follows the last marker unless that is empty."""
    whole = response.strip()
    _, marker, after = response.rpartition(MARKER)
    after = after.strip()
    return [whole, after] if marker and after else [whole]


def accepted_answers(reference: str, *, phrase: bool) -> list[str]:
    """The normalised answers that `reference` accepts.

    Args:
        reference: the row's `outputs`; for a riddle a list split on `;`.
        phrase: whether the row is a riddle; elsewhere the reference is one string, letters and order included.

    Returns:
        Normalised answers, without empty ones: a reference that normalises to nothing matches nothing.
    """
    entries = reference.split(";") if phrase else [reference]
    return [answer for answer in map(normalise, entries) if answer]


def exact_match(response: str, accepted: Iterable[str]) -> int:
    """1 if a reading of `response` normalises to one of the `accepted` answers, else 0."""
    wanted = set(accepted)
    return int(any(normalise(reading) in wanted for reading in readings(response)))
