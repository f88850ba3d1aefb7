"""The one type for everything that is wrong or noteworthy in data, logs, submissions and comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Issue:
    """One thing that is wrong or worth knowing. Checks return issues as values; commands decide what to do with them.

    Attributes:
        code: what kind of issue it is, in kebab case (`duplicate-id`). Tests and callers match on it.
        severity: `error` stops a run or a submission, `warning` does not, `note` is only information.
        location: the file, row, field, task or model, as in `test.json, row 3 (id 7), field outputs`.
        message: what is wrong, without a final full stop.
        hint: how to fix it, as one or more sentences; empty if there is nothing to do.
        values: what the message is made of, by name, for issues whose texts exist in several languages.
    """

    code: str
    severity: Severity
    location: str
    message: str
    hint: str = ""
    values: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.message}. {self.hint}".rstrip()


def errors(issues: Iterable[Issue]) -> list[Issue]:
    """Return the issues that stop a run."""
    return [issue for issue in issues if issue.severity == "error"]
