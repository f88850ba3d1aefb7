"""Every rule on a row of a benchmark. `RULES` lists them all; `check_rows` applies them."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat, Benchmark
from mera_ru_tasks.issues import Issue, Location, Severity
from mera_ru_tasks.scoring.strict import accepted_answers

Row = Mapping[str, Any]
# For each split its place (a file or hub split, for messages) and its rows as they are stored.
Splits = Mapping[str, tuple[str, Sequence[Any]]]


@dataclass(frozen=True)
class Rule:
    """One rule on rows.

    Attributes:
        severity: `error` if a run must not use such a row, `warning` if it can.
        reason: why.
    """

    severity: Severity
    reason: str


RULES: Mapping[str, Rule] = {
    "row-type": Rule("error", "A row that is not an object has no question."),
    "missing-field": Rule("error", "The prompt, the reference or the groups would be incomplete."),
    "wrong-type": Rule("error", "A value of another type cannot be shown or compared reliably."),
    "empty-field": Rule("error", "The model would be asked an incomplete question."),
    "unknown-type": Rule("error", "The form of the answer depends on the type."),
    "unknown-prompt": Rule("error", "The row has no instruction without its prompt."),
    "duplicate-id": Rule("error", "Responses, logs and submissions are joined by id."),
    "no-answer": Rule("error", "No response can match a reference without a word."),
    "unknown-choice": Rule("error", "No response can match a letter that is not an option."),
    "repeated-choice": Rule("error", "No response can match a letter that occurs twice."),
    "unordered-choices": Rule("error", "Extracted letters are in alphabetical order."),
    "too-many-choices": Rule("error", "The reference contradicts the task's answer format."),
    "missing-phrase": Rule("error", "The answer format requires a phrase after the letter."),
    "lone-surrogate": Rule("error", "Half a character cannot be stored or sent to a model."),
    "nested-too-deep": Rule("error", "Such values cannot be stored."),
    "integer-too-large": Rule("error", "Integers of more than 64 bits cannot be stored."),
    "not-a-number": Rule("error", "NaN and infinity cannot be written to valid JSON logs."),
    "mixed-types": Rule("error", "Documents are stored in columns, each of one type."),
}


@dataclass(frozen=True)
class _Violation:
    """A rule's violation, without its place."""

    code: str
    field: str
    message: str
    hint: str


@dataclass(frozen=True)
class PlacedRow:
    """A valid row with its place.

    Attributes:
        split: `test` or `shots`.
        file: the file or hub split.
        number: the row's number in it, from 1.
        content: the row.
    """

    split: str
    file: str
    number: int
    content: Row

    @property
    def id(self) -> int:
        """Return the row's `meta.id`."""
        identity: int = self.content["meta"]["id"]
        return identity

    @property
    def inputs(self) -> dict[str, str]:
        """Return the inputs that are not empty."""
        return {name: value for name, value in self.content["inputs"].items() if value}

    @property
    def reference(self) -> str:
        """Return the reference answer, empty if it is closed."""
        return (self.content["outputs"] or "").strip()

    def kind(self, benchmark: Benchmark) -> str:
        """Return the row's type as text, `all` for a benchmark without types."""
        return str(self.content["meta"][benchmark.type_field]) if benchmark.type_field else "all"

    def at(self, field: str) -> Location:
        """Return the location of one of the row's fields."""
        return Location(self.file, self.number, self.id, field)


def rule_issue(code: str, location: Location, message: str, hint: str) -> Issue:
    """Return the issue for a violated rule, with the rule's severity."""
    return Issue(code, RULES[code].severity, location, message, hint)


def check_rows(splits: Splits, benchmark: Benchmark) -> Iterator[Issue]:
    """Check all rows of all splits, lazily and in order.

    Args:
        splits: the rows.
        benchmark: what the rows must be.
    """
    seen: dict[int, str] = {}
    types: dict[str, tuple[str, str]] = {}
    for file, rows in splits.values():
        for number, row in enumerate(rows, start=1):
            identity = row_id(row)
            place = f"{file}, row {number}"
            for found in itertools.chain(check_row(row, benchmark), _check_types(row, benchmark, place, types)):
                yield rule_issue(found.code, Location(file, number, identity, found.field), found.message, found.hint)
            if identity is None:
                continue
            if identity in seen:
                yield rule_issue(
                    "duplicate-id", Location(file, number, identity, "meta.id"),
                    f"the id is already used in {seen[identity]}",
                    "Ids must differ over test and shots together: renumber one of the rows.",
                )  # fmt: skip
            else:
                seen[identity] = place


def _check_types(row: Any, benchmark: Benchmark, place: str, types: dict[str, tuple[str, str]]) -> Iterator[_Violation]:
    """Check that each further `meta` field has one type in all rows, since documents are stored in columns.

    `types` keeps the first type of each field, and where it was found, from row to row.
    """
    meta = row.get("meta") if isinstance(row, Mapping) else None
    for name, value in meta.items() if isinstance(meta, Mapping) else ():
        if name in ("id", *benchmark.meta) or _LONE_SURROGATE.search(name):
            continue
        for path, found in _types_within(value, f"meta.{name}"):
            first, where = types.setdefault(path, (found, place))
            if found != first:
                message = f"it is {found}, but {first} in {where}"
                yield _Violation("mixed-types", path, message, "Write the field with the same type in all rows.")


def _types_within(value: Any, path: str, depth: int = 1) -> Iterator[tuple[str, str]]:
    """Yield the type of a value and of everything in it, each with its path; `[]` stands for a list's elements."""
    if value is None or depth > _DEEPEST:  # deeper nesting is an issue of its own
        return
    yield path, "a number" if type(value) is int else _type_name(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            if not _LONE_SURROGATE.search(name):
                yield from _types_within(part, f"{path}.{name}", depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _types_within(part, f"{path}[]", depth + 1)


def check_row(row: Any, benchmark: Benchmark) -> Iterator[_Violation]:
    """Check one row by itself."""
    if not isinstance(row, Mapping):
        message = f"it is {_type_name(row)}, not an object"
        yield _Violation("row-type", "row", message, "Each row needs instruction, inputs, outputs and meta.")
        return
    yield from _check_values(row, "")
    for name, wanted in (("instruction", "a string"), ("inputs", "an object"), ("outputs", "a string"),
                         ("meta", "an object")):  # fmt: skip
        if name not in row:
            yield _Violation("missing-field", name, "the field is missing", f"Add it, as {wanted}.")
        elif name == "outputs" and row[name] is None:
            continue  # a closed answer
        elif not isinstance(row[name], str if wanted == "a string" else Mapping):
            message = f"it is {_type_name(row[name])}, not {wanted}"
            yield _Violation("wrong-type", name, message, f"Write it as {wanted}.")
    if isinstance(row.get("instruction"), str) and not row["instruction"].strip():
        hint = "Write the prompt's template here, or its index in dataset_meta.json."
        yield _Violation("empty-field", "instruction", "it is empty", hint)
    if isinstance(row.get("inputs"), Mapping):
        yield from _check_inputs(row["inputs"], benchmark)
    if isinstance(row.get("meta"), Mapping):
        yield from _check_meta(row["meta"], benchmark)
        answer_format = format_of(row, benchmark)
        if isinstance(row.get("outputs"), str) and answer_format is not None:
            yield from _check_reference(row["outputs"], answer_format)


_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_LARGEST = 2**63 - 1
_DEEPEST = 16


def _check_values(value: Any, path: str, depth: int = 0) -> Iterator[_Violation]:
    """Find values that JSON can express but no document can store, anywhere in a row."""
    if depth > _DEEPEST:
        hint = f"A row may contain {_DEEPEST} levels of objects and lists."
        yield _Violation("nested-too-deep", path, "it is nested too deeply", hint)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            inner = f"{path}.{name}".lstrip(".")
            if _LONE_SURROGATE.search(name):
                message = "its name contains half a character (a lone surrogate)"
                yield _Violation("lone-surrogate", ascii(inner), message, "Write the name again.")
            else:
                yield from _check_values(part, inner, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _check_values(part, path, depth + 1)
    elif isinstance(value, str) and (half := _LONE_SURROGATE.search(value)):
        message = f"character {half.start() + 1} is half a character (the lone surrogate {half[0]!a})"
        yield _Violation("lone-surrogate", path, message, "Write the text again: it was cut or decoded incorrectly.")
    elif isinstance(value, int) and abs(value) > _LARGEST:
        message = f"the integer {value} is too large"
        yield _Violation("integer-too-large", path, message, f"The largest is {_LARGEST}.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield _Violation("not-a-number", path, f"it is {value}, which is not a number", "Write a number, or null.")


def format_of(row: Row, benchmark: Benchmark) -> AnswerFormat | None:
    """Return the row's answer format; None if the benchmark has no such type."""
    kind = row["meta"].get(benchmark.type_field) if benchmark.type_field else None
    return benchmark.formats.get(kind) if kind is None or isinstance(kind, int) else None


def _check_inputs(inputs: Mapping[str, Any], benchmark: Benchmark) -> Iterator[_Violation]:
    for name, value in inputs.items():
        if value is not None and not isinstance(value, str):
            message = f"it is {_type_name(value)}, not a string"
            yield _Violation("wrong-type", f"inputs.{name}", message, "Write it as a string.")
    for name in benchmark.inputs:
        if name not in inputs:
            hint = f"{benchmark.title} needs it in every row."
            yield _Violation("missing-field", f"inputs.{name}", "the field is missing", hint)
        elif inputs[name] is None or (isinstance(inputs[name], str) and not inputs[name].strip()):
            yield _Violation(
                "empty-field", f"inputs.{name}", "it is empty", f"{benchmark.title} needs it in every row."
            )


def _check_meta(meta: Mapping[str, Any], benchmark: Benchmark) -> Iterator[_Violation]:
    for name in ("id", *benchmark.meta):
        field, value = f"meta.{name}", meta.get(name)
        if value is None:
            yield _Violation("missing-field", field, "the field is missing", "Add it, as an integer.")
        elif not isinstance(value, int) or isinstance(value, bool):
            message = f"it is {_type_name(value)}, not an integer"
            yield _Violation("wrong-type", field, message, "Write it as an integer.")
        elif name == benchmark.type_field and value not in benchmark.formats:
            known = ", ".join(map(str, benchmark.formats))
            message = f"the type {value} is unknown"
            yield _Violation("unknown-type", field, message, f"{benchmark.title} has the types {known}.")


def _check_reference(reference: str, answer_format: AnswerFormat) -> Iterator[_Violation]:
    if not reference.strip():
        return  # a closed answer
    if not answer_format.choices:
        if not accepted_answers(reference, phrase=True):
            hint = "Write the accepted answers, joined by `; `."
            yield _Violation("no-answer", "outputs", f"{reference!r} contains no word", hint)
        return
    letters, phrase = split_reference(reference, answer_format)
    known = ", ".join(answer_format.choices)
    sample = "; ".join(answer_format.choices[: min(2, answer_format.max_choices)]) + (
        "; слово" if answer_format.with_phrase else ""
    )
    hint = f"Write capital Cyrillic letters of {known} in alphabetical order, joined by `; `, as in `{sample}`."
    if unknown := [letter for letter in letters if letter not in answer_format.choices or len(letter) != 1]:
        latin = " (a Latin letter)" if re.search("[A-Za-z]", unknown[0]) else ""
        message = f"{reference!r} contains the unknown letter {unknown[0]!r}{latin}"
        yield _Violation("unknown-choice", "outputs", message, hint)
    elif len(set(letters)) < len(letters):
        yield _Violation("repeated-choice", "outputs", f"{reference!r} contains a letter twice", hint)
    elif letters != sorted(letters):
        yield _Violation("unordered-choices", "outputs", f"the letters of {reference!r} are not in order", hint)
    elif len(letters) > answer_format.max_choices:
        message = f"{reference!r} contains {len(letters)} letters, but at most {answer_format.max_choices} are allowed"
        yield _Violation("too-many-choices", "outputs", message, hint)
    elif answer_format.with_phrase and not accepted_answers(phrase, phrase=False):
        yield _Violation("missing-phrase", "outputs", f"{reference!r} has no phrase after the letter", hint)


def split_reference(reference: str, answer_format: AnswerFormat) -> tuple[list[str], str]:
    """Split a reference of letters into its letters and its phrase (empty if the format has none)."""
    if answer_format.with_phrase:
        letter, _, phrase = reference.strip().partition("; ")
        return [letter], phrase.strip()
    return reference.strip().split("; "), ""


def has_reference(row: Row) -> bool:
    """Return True if the row has an answer to compare with. Closed answers are `""` or None."""
    return bool((row.get("outputs") or "").strip())


def row_id(row: Any) -> int | None:
    """Return the row's `meta.id`; None if it has no integer there."""
    meta = row.get("meta") if isinstance(row, Mapping) else None
    identity = meta.get("id") if isinstance(meta, Mapping) else None
    return identity if isinstance(identity, int) and not isinstance(identity, bool) else None


def _type_name(value: Any) -> str:
    """Name a JSON value's type in words."""
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    return "an object" if isinstance(value, Mapping) else names.get(type(value), type(value).__name__)
