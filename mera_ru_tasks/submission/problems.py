"""What can be wrong with a submission, in one form for all checks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing wrong.

    Attributes:
        task: the task or the benchmark's title.
        place: the file, and the line where there is one.
        what: what is wrong, with the ids it is about.
        remedy: how to mend it.
        hole: whether only something is missing, so that the rest could be packed.
    """

    task: str
    place: str
    what: str
    remedy: str
    hole: bool = False

    def __str__(self) -> str:
        return f"{self.task}: {self.place}: {self.what}. {self.remedy}"


def name_ids(ids: Iterable[int], most: int = 10) -> str:
    """Name ids in words, neighbours as ranges: `ids 1 to 5, 9 and 12`, at most `most` ranges."""
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:most]]
    left = sum(last - first + 1 for first, last in ranges[most:])
    single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"id{'' if single else 's'} {', '.join(parts)}" + (f" and {left} more" if left else "")
