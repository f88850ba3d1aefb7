"""Define `Issue`, which describes an error, a warning or a note, and exceptions for mistakes that users can fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

_LONGEST = 1_000


def cut(text: str) -> str:
    """Shorten a long text in the middle, because a message may quote a value of any length."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST * 2 // 3]} … {text[-_LONGEST // 3 :]}"


class MeraRuError(Exception):
    """A user's mistake or a missing resource. The message says what is wrong, where, and how to fix it."""

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(cut, message.split("\n"))))


class DataError(MeraRuError, ValueError):
    """Raised if data are missing, unreadable or invalid."""


class TaskError(MeraRuError, ValueError):
    """Raised for an unknown task or an invalid task YAML."""


class SubmissionError(MeraRuError, ValueError):
    """Raised if a submission cannot be read or written."""


class OutputError(MeraRuError, ValueError):
    """Raised if a file cannot be written."""


class RunError(MeraRuError, ValueError):
    """Raised if the logs of a run are missing, unreadable or invalid."""


class JudgeError(MeraRuError):
    """Raised if the judge cannot be used because of its settings, server, cache or prompt."""


Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Location:
    """The location of an issue, split into fields so that programs can find the row.

    `str()` gives a text such as `test.json, row 3 (id 7), field …`.

    Attributes:
        file: the file, folder, hub split or archive entry.
        row: the number of the row in the file, starting at 1.
        id: the row's `meta.id`.
        field: the path of the field, such as `meta.group_id`.
    """

    file: str
    row: int | None = None
    id: int | None = None
    field: str = ""

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        identity = "" if self.id is None else f" (id {self.id})"
        return f"{self.file}{row}{identity}" + (f", field `{self.field}`" if self.field else "")


@dataclass(frozen=True)
class Issue:
    """An error, warning or note. Checks return issues as values; commands decide what to do with them.

    Attributes:
        code: the kind of issue, in kebab case (`duplicate-id`). Tests and callers match on it.
        severity: `error` stops a run or a submission, `warning` does not, and `note` is only information.
        location: a `Location` in data, or a text that names a file, task or model (`riddles_closed: results.json`).
        message: what is wrong, without a final full stop.
        hint: how to fix the issue, in one or more sentences; empty if there is nothing to do.
        count: the number of affected rows, including the row in `location`.
        values: the names and values in the message, for issues whose text exists in several languages.
    """

    code: str
    severity: Severity
    location: str | Location
    message: str
    hint: str = ""
    count: int = 1
    values: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", cut(self.message))
        object.__setattr__(self, "hint", cut(self.hint))
        if isinstance(self.location, str):
            object.__setattr__(self, "location", cut(self.location))

    def __str__(self) -> str:
        location = f"{self.location}: " if str(self.location) else ""
        # A sentence that ends in an abbreviation, as in the Russian for "7 points", has one full stop.
        return f"{location}{self.message.removesuffix('.')}. {self.hint}".rstrip()

    def as_json(self) -> dict[str, Any]:
        """Return the issue as a JSON object, in which a `Location` is an object as well."""
        located = self.location if isinstance(self.location, str) else vars(self.location)
        shown = {name: value for name, value in vars(self).items() if name != "values"}
        return {**shown, "location": located}


def shortened(issues: Iterable[Issue]) -> list[Issue]:
    """Return the issues to print: at most `MAX_PER_CODE` of each code, followed by the numbers of the others."""
    kept, numbers, last = [], Counter[str](), {}
    for issue in issues:
        numbers[issue.code] += 1
        if numbers[issue.code] <= MAX_PER_CODE:
            kept.append(issue)
        last[issue.code] = issue
    for code, number in numbers.items():
        if number > MAX_PER_CODE:
            kept.append(replace(last[code], message=f"{number - MAX_PER_CODE} more of this kind, up to here", hint=""))
    return kept


MAX_PER_CODE = 100


def errors(issues: Iterable[Issue]) -> list[Issue]:
    """Return the issues that stop a run."""
    return [issue for issue in issues if issue.severity == "error"]
