"""Create notes on a comparison, and format them in English and Russian.

A note is an `Issue`. notes.json contains the texts of each code. In these texts, `{n}` is replaced by the value of `n`,
and `{n:line|lines}` by the form of the word that agrees with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from mera_ru_tasks.issues import Issue
from mera_ru_tasks.textutil import plural

ENGLISH, RUSSIAN = "en", "ru"

# The codes of fragments that contain a folder of the user's machine. Shared output omits these fragments.
_PRIVATE = frozenset({"in-folder", "library-error"})


class Number(str):
    """A number or an interval in a note, `0.12` or `[0.1, 0.2]`; Russian texts have `0,12` and `[0,1; 0,2]`."""

    def in_russian(self) -> str:
        """Return the text with decimal commas, and with a semicolon between the ends of an interval."""
        return self.replace(", ", "; ").replace(".", ",")


def note(code: str, location: str = "", **values: object) -> Issue:
    """Create a note.

    Args:
        code: a key of notes.json.
        location: the model or file that the note is about. Empty for a fragment of a sentence.
        values: the values of the placeholders. Each is a note, a tuple of notes, or a text for both languages.
    """
    kept = tuple(
        (name, value if isinstance(value, (Issue, tuple, str)) else str(value))
        for name, value in sorted(values.items())
    )
    severity = _texts()[code].get("severity", "note")
    issue = Issue(code, severity, location, "", values=kept)
    return Issue(code, severity, location, fragment(issue), _filled(issue, "hint", ENGLISH, shared=False), values=kept)


def setting(name: object, ours: object, theirs: object) -> Issue:
    """Create a note on a setting whose values differ."""
    return note("setting", name=name, ours=ours, theirs=theirs)


def exchanged(issue: Issue) -> Issue:
    """Return a note with the values of the two models exchanged."""
    values = dict(issue.values)
    if "ours" in values:
        values["ours"], values["theirs"] = values["theirs"], values["ours"]
    return note(issue.code, str(issue.location), **values)


def fragment(issue: Issue, language: str = ENGLISH, *, shared: bool = False) -> str:
    """Return a note's message in the given language, as a sentence fragment.

    Args:
        issue: the note.
        language: `en` or `ru`.
        shared: True to omit folder names, because the text may leave the user's machine.
    """
    return "" if shared and issue.code in _PRIVATE else _filled(issue, "message", language, shared=shared)


def sentence(issue: Issue, language: str = ENGLISH, *, shared: bool = False) -> str:
    """Return a note as one or more complete sentences (for the arguments, see `fragment`)."""
    message, hint = fragment(issue, language, shared=shared), _filled(issue, "hint", language, shared=shared)
    return str(replace(issue, message=message, hint=hint))


def joined(issues: Iterable[Issue], language: str = ENGLISH, *, shared: bool = False) -> str:
    """Join the messages of several notes into one fragment (for the arguments, see `fragment`)."""
    return "; ".join(fragment(issue, language, shared=shared) for issue in issues)


def merged(issues: Iterable[Issue]) -> list[Issue]:
    """Remove duplicate notes, and merge notes that differ only in the value of `task`."""
    groups: dict[Any, list[Issue]] = {}
    for issue in issues:
        others = tuple(item for item in issue.values if item[0] != "task")
        groups.setdefault((issue.code, issue.location, others), []).append(issue)
    return [_together(group) for group in groups.values()]


def _together(group: Sequence[Issue]) -> Issue:
    first = group[0]
    values = dict(first.values)
    if "task" in values:
        values["task"] = ", ".join(dict.fromkeys(str(dict(issue.values)["task"]) for issue in group))
    return note(first.code, str(first.location), **values)


def _filled(issue: Issue, part: str, language: str, *, shared: bool) -> str:
    text: str = _texts()[issue.code].get(part, {}).get(language, "")
    if "{" not in text:
        return text
    values = dict(issue.values)

    def fill(gap: re.Match[str]) -> str:
        value = values[gap[1]]
        if gap[2]:
            return plural(1 if value == "1" else 2, *gap[2].split("|"))
        if isinstance(value, Number) and language == RUSSIAN:
            return value.in_russian()
        if isinstance(value, str):
            return value
        return joined(value if isinstance(value, tuple) else (value,), language, shared=shared)

    # All placeholders are replaced in one pass, so that braces inside a value stay unchanged.
    return re.sub(r"\{(\w+)(?::([^}]*))?\}", fill, text)


@cache
def _texts() -> dict[str, dict[str, Any]]:
    texts: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return texts
