"""Texts that are nearly the same, found by their shared character sequences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from mera_ru_tasks.scoring.normalize import normalize

_LENGTH = 5
# Two texts that share so much differ by a word or two; texts on one subject share far less.
NEAR = 0.7


def near_doubles(texts: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Find pairs of nearly the same text.

    Two texts are compared by their resemblance, the Jaccard index of their sets of character sequences (Broder 1997,
    "On the resemblance and containment of documents"), after normalisation.

    Args:
        texts: each is compared with
        others: each of these.

    Yields:
        Index in `texts`, index in `others`, and the resemblance (0 to 1), where it is at least `NEAR`.
    """
    sets = [shingles(text) for text in others]
    holders: dict[str, list[int]] = defaultdict(list)
    for index, known in enumerate(sets):
        for shingle in known:
            holders[shingle].append(index)
    for position, text in enumerate(texts):
        own = shingles(text)
        shared = Counter(index for shingle in own if shingle in holders for index in holders[shingle])
        for index, common in shared.items():
            resemblance = common / (len(own) + len(sets[index]) - common)
            if resemblance >= NEAR:
                yield position, index, resemblance


def shingles(text: str) -> set[str]:
    """The sequences of five characters in the normalised text; a shorter text is one sequence."""
    plain = normalize(text)
    return {plain[start : start + _LENGTH] for start in range(max(1, len(plain) - _LENGTH + 1))} if plain else set()
