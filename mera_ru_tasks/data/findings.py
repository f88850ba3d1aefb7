"""One finding in a data set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.schema import Problem


@dataclass(frozen=True)
class Finding:
    """What is wrong or looks wrong, and where.

    Attributes:
        place: the file, folder or hub split.
        row: the row's number in it, from 1; None for a finding on the whole.
        id: the row's `meta.id`, if it has one.
        field: the field, as a path; empty for a finding on the whole.
        what: what is wrong.
        remedy: how to mend it.
        rows: how many rows it is about, where `row` is only the first.
    """

    place: str
    row: int | None
    id: int | None
    field: str
    what: str
    remedy: str
    rows: int = 1

    @classmethod
    def of(cls, problem: Problem) -> Finding:
        """A finding of the loader's checks."""
        return cls(problem.place, problem.row, problem.id, problem.field, problem.what, problem.remedy)

    @classmethod
    def on_whole(cls, place: str, what: str, remedy: str, field: str = "") -> Finding:
        """A finding on a file or split, not on one row."""
        return cls(place, None, None, field, what, remedy)


@dataclass(frozen=True)
class Document:
    """A row that the loader takes, with its place.

    Attributes:
        split: `test` or `shots`.
        place: the file or hub split.
        row: the row's number in it, from 1.
        content: the row.
    """

    split: str
    place: str
    row: int
    content: Any

    @property
    def id(self) -> int:
        """The row's `meta.id`."""
        identity: int = self.content["meta"]["id"]
        return identity

    @property
    def inputs(self) -> dict[str, str]:
        """The inputs that are filled."""
        return {name: value for name, value in self.content["inputs"].items() if value}

    @property
    def reference(self) -> str:
        """The reference answer, empty where it is closed."""
        return (self.content["outputs"] or "").strip()

    def finding(self, field: str, what: str, remedy: str) -> Finding:
        """A finding on this row."""
        return Finding(self.place, self.row, self.id, field, what, remedy)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that say the same of several rows into one that counts them, the first row's."""
    alike: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in findings:
        alike.setdefault((finding.place, finding.field, finding.what), []).append(finding)
    return [_joined(group) for group in alike.values()]


def _joined(group: Sequence[Finding]) -> Finding:
    first = group[0]
    return Finding(first.place, first.row, first.id, first.field, first.what, first.remedy, len(group))
