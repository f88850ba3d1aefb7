"""Score a response as the leaderboard does: the filter `strict-match`.

MERA scores the whole response and the text after its last `Ответ:`, both normalized. Our score must equal the
leaderboard's on every response, so this module does nothing beyond that rule.
"""

from __future__ import annotations

import functools
from collections.abc import Collection

from mera_ru_tasks.scoring.normalize import is_longer, normalize

MARKER = "Ответ:"


def candidates(response: str) -> list[str]:
    """Return the texts that may match: the whole response and, unless empty, what follows the last marker."""
    whole = response.strip()
    _, marker, after = response.rpartition(MARKER)
    after = after.strip()
    return [whole, after] if marker and after else [whole]


def entries_of(reference: str, *, is_list: bool) -> list[str]:
    """Return the answers that a reference accepts, as they are written and in their order.

    Args:
        reference: the row's `outputs`. For a riddle it lists the accepted answers, separated by `;`.
        is_list: True for a riddle. Elsewhere the reference is one string, letters and order included.

    Returns:
        The entries without those that normalize to nothing, such as `…`: no response can match them.
    """
    entries = reference.split(";") if is_list else [reference]
    return [entry.strip() for entry in entries if normalize(entry)]


@functools.lru_cache(maxsize=4096)
def accepted_answers(reference: str, *, is_list: bool) -> tuple[str, ...]:
    """Return the normalized answers that a reference accepts (see `entries_of`)."""
    return tuple(map(normalize, entries_of(reference, is_list=is_list)))


def exact_match(response: str, accepted: Collection[str]) -> int:
    """Return 1 if a candidate of the response normalizes to one of the accepted answers, else 0."""
    longest = max(map(len, accepted), default=0)
    for candidate in candidates(response):
        if not is_longer(candidate, longest) and normalize(candidate) in accepted:
            return 1
    return 0


def exact_match_plain(response: str, reference: str) -> int:
    """Return 1 if a candidate equals an accepted answer after stripping and lower-casing alone, else 0.

    For riddles MERA's public code has two rules. One normalizes, as `exact_match` does; the other does only this.
    """
    accepted = _plain_answers(reference)
    longest = max(map(len, accepted), default=0)
    return int(any(len(text) <= longest and text.lower() in accepted for text in candidates(response)))


@functools.lru_cache(maxsize=4096)
def _plain_answers(reference: str) -> frozenset[str]:
    """Return the accepted answers, stripped and in lower case; by this rule `!` is one, too."""
    return frozenset(entry.strip().lower() for entry in reference.split(";")) - {""}
