"""Score a response as the leaderboard does, for the filter `strict-match`.

MERA compares the whole response and the text after the last `Ответ:` with the reference, after normalizing them. The
score must equal the leaderboard's score for every response, so this module applies only this rule.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from mera_ru_tasks.scoring.normalize import is_longer, normalize

MARKER = "Ответ:"


def candidates(response: str) -> list[str]:
    """Return the texts that are compared: the whole response and, if not empty, the text after the last marker."""
    whole = response.strip()
    _, marker, after = response.rpartition(MARKER)
    after = after.strip()
    return [whole, after] if marker and after else [whole]


def entries_of(reference: str, *, is_list: bool) -> list[str]:
    """Return the answers that a reference accepts, as written and in the order of the reference.

    Args:
        reference: the row's `outputs`.
        is_list: True if the reference is a list of accepted answers, separated by `;`, as in riddles. False if the
            whole reference is one answer.

    Returns:
        The entries, without those that normalize to an empty string, such as `…`, because no response can match them.
    """
    entries = reference.split(";") if is_list else [reference]
    return [entry.strip() for entry in entries if normalize(entry)]


@functools.lru_cache(maxsize=4096)
def accepted_answers(reference: str, *, is_list: bool) -> tuple[str, ...]:
    """Return the normalized answers that a reference accepts (see `entries_of`)."""
    return tuple(map(normalize, entries_of(reference, is_list=is_list)))


def exact_match(response: str, accepted: Collection[str]) -> int:
    """Return 1 if a candidate (see `candidates`) normalizes to one of the accepted answers, otherwise 0."""
    longest = max(map(len, accepted), default=0)
    for candidate in candidates(response):
        if not is_longer(candidate, longest) and normalize(candidate) in accepted:
            return 1
    return 0


def exact_match_plain(response: str, reference: str) -> int:
    """Return 1 if a candidate equals an accepted answer after only stripping and lower-casing, otherwise 0.

    MERA's public code has two rules for riddles. The first normalizes the texts, as `exact_match` does. This function
    implements the second.
    """
    accepted = _plain_answers(reference)
    longest = max(map(len, accepted), default=0)
    return int(any(len(text) <= longest and text.lower() in accepted for text in candidates(response)))


@functools.lru_cache(maxsize=4096)
def _plain_answers(reference: str) -> frozenset[str]:
    """Return the accepted answers in lower case, without surrounding white space. By this rule, `!` is an answer."""
    return frozenset(entry.strip().lower() for entry in reference.split(";")) - {""}
