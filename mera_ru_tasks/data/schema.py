"""What a row of a benchmark must look like. Every rule on data stands here, and each names its remedy."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat, Benchmark
from mera_ru_tasks.scoring.strict import accepted_answers

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a row.

    Attributes:
        place: the file or hub split that holds the row.
        row: the row's number in it, from 1.
        id: the row's `meta.id`, if it has one.
        field: the field, as a path (`meta.group_id`).
        what: what is wrong.
        remedy: how to mend it.
    """

    place: str
    row: int
    id: int | None
    field: str
    what: str
    remedy: str

    def __str__(self) -> str:
        known = f" (id {self.id})" if self.id is not None else ""
        return f"{self.place}, row {self.row}{known}, field `{self.field}`: {self.what}. {self.remedy}"


def check_rows(splits: Mapping[str, tuple[str, Sequence[Any]]], benchmark: Benchmark) -> Iterator[Problem]:
    """Check all rows of all splits, lazily and in order.

    Args:
        splits: for each split's name its place (a file, for messages) and its rows.
        benchmark: what the rows must be.
    """
    seen: dict[int, str] = {}
    kinds: dict[str, tuple[str, str]] = {}
    for place, rows in splits.values():
        for number, row in enumerate(rows, start=1):
            identity = row_id(row)
            kind_problems = _check_kinds(row, benchmark, f"{place}, row {number}", kinds)
            for field, what, remedy in itertools.chain(check_row(row, benchmark), kind_problems):
                yield Problem(place, number, identity, field, what, remedy)
            if identity is None:
                continue
            if identity in seen:
                yield Problem(
                    place, number, identity, "meta.id", f"the id stands already in {seen[identity]}",
                    "Ids must differ over test and shots together: renumber one of the rows.",
                )  # fmt: skip
            else:
                seen[identity] = f"{place}, row {number}"


def _check_kinds(
    row: Any, benchmark: Benchmark, place: str, kinds: dict[str, tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    """Check that each further `meta` field holds one kind of value in all rows, since documents are stored in columns.

    `kinds` keeps the first kind, and its place, of each field and of what fields hold, from row to row.
    """
    meta = row.get("meta") if isinstance(row, Mapping) else None
    for name, value in meta.items() if isinstance(meta, Mapping) else ():
        if name in ("id", *benchmark.meta) or _LONE_SURROGATE.search(name):
            continue
        for path, kind in _kinds_within(value, f"meta.{name}"):
            first, where = kinds.setdefault(path, (kind, place))
            if kind != first:
                yield path, f"it is {kind}, but {first} in {where}", "Write the field in one kind in all rows."


def _kinds_within(value: Any, path: str, depth: int = 1) -> Iterator[tuple[str, str]]:
    """The kind of a value and of all that it holds, each with its path, in which `[]` stands for a list's elements."""
    if value is None or depth > _DEEPEST:  # what is nested more deeply is refused as such
        return
    yield path, "a number" if type(value) is int else _kind(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            if not _LONE_SURROGATE.search(name):
                yield from _kinds_within(part, f"{path}.{name}", depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _kinds_within(part, f"{path}[]", depth + 1)


def check_row(row: Any, benchmark: Benchmark) -> Iterator[tuple[str, str, str]]:
    """Yield (field, what is wrong, remedy) for one row."""
    if not isinstance(row, Mapping):
        yield "row", f"it is {_kind(row)}, not an object", "Each row needs instruction, inputs, outputs and meta."
        return
    yield from _check_values(row, "")
    for name, wanted in (("instruction", str), ("inputs", Mapping), ("outputs", str), ("meta", Mapping)):
        if name not in row:
            yield name, "the field is missing", f"Add it, as {_name_of(wanted)}."
        elif name == "outputs" and row[name] is None:
            continue  # a closed answer
        elif not isinstance(row[name], wanted):
            yield name, f"it is {_kind(row[name])}, not {_name_of(wanted)}", f"Write it as {_name_of(wanted)}."
    if isinstance(row.get("instruction"), str) and not row["instruction"].strip():
        yield "instruction", "it is empty", "Put the prompt's template here, or its index in dataset_meta.json."
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


def _check_values(value: Any, path: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield what JSON can write but no document can hold, anywhere in a row."""
    if depth > _DEEPEST:
        yield path, "it is nested too deeply", f"A row may be {_DEEPEST} objects and lists deep."
    elif isinstance(value, Mapping):
        for name, part in value.items():
            inner = f"{path}.{name}".lstrip(".")
            if _LONE_SURROGATE.search(name):
                yield ascii(inner), "its name holds half a character (a lone surrogate)", "Write the name anew."
            else:
                yield from _check_values(part, inner, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _check_values(part, path, depth + 1)
    elif isinstance(value, str) and (half := _LONE_SURROGATE.search(value)):
        what = f"character {half.start() + 1} is half a character (the lone surrogate {half[0]!a})"
        yield path, what, "Write the text anew: it was cut or decoded wrongly."
    elif isinstance(value, int) and abs(value) > _LARGEST:
        yield path, f"the integer {value} is too large", f"The largest is {_LARGEST}."
    elif isinstance(value, float) and not math.isfinite(value):
        yield path, f"it is {value}, which is no number", "Write a number, or null."


def format_of(row: Row, benchmark: Benchmark) -> AnswerFormat | None:
    """The form of the row's answer; None if its type is not one of the benchmark's."""
    kind = row["meta"].get(benchmark.type_field) if benchmark.type_field else None
    return benchmark.formats.get(kind) if kind is None or isinstance(kind, int) else None


def _check_inputs(inputs: Mapping[str, Any], benchmark: Benchmark) -> Iterator[tuple[str, str, str]]:
    for name, value in inputs.items():
        if value is not None and not isinstance(value, str):
            yield f"inputs.{name}", f"it is {_kind(value)}, not a string", "Write it as a string."
    for name in benchmark.inputs:
        if name not in inputs:
            yield f"inputs.{name}", "the field is missing", f"{benchmark.title} needs it in every row."
        elif inputs[name] is None or (isinstance(inputs[name], str) and not inputs[name].strip()):
            yield f"inputs.{name}", "it is empty", f"{benchmark.title} needs it filled in every row."


def _check_meta(meta: Mapping[str, Any], benchmark: Benchmark) -> Iterator[tuple[str, str, str]]:
    for name in ("id", *benchmark.meta):
        value = meta.get(name)
        if value is None:
            yield f"meta.{name}", "the field is missing", "Add it, as an integer."
        elif not isinstance(value, int) or isinstance(value, bool):
            yield f"meta.{name}", f"it is {_kind(value)}, not an integer", "Write it as an integer."
        elif name == benchmark.type_field and value not in benchmark.formats:
            known = ", ".join(map(str, benchmark.formats))
            yield f"meta.{name}", f"the type {value} is unknown", f"{benchmark.title} has the types {known}."


def _check_reference(reference: str, answer_format: AnswerFormat) -> Iterator[tuple[str, str, str]]:
    if not reference.strip():
        return  # a closed answer
    if not answer_format.choices:
        if not accepted_answers(reference, phrase=True):
            yield "outputs", f"{reference!r} holds no word", "Write the accepted answers, joined by `; `."
        return
    letters, unit = split_reference(reference, answer_format)
    known = ", ".join(answer_format.choices)
    sample = "; ".join(answer_format.choices[: min(2, answer_format.max_choices)]) + (
        "; единица" if answer_format.with_phrase else ""
    )
    remedy = f"Write capital Cyrillic letters of {known} in alphabetical order, joined by `; `, as in `{sample}`."
    if unknown := [letter for letter in letters if letter not in answer_format.choices or len(letter) != 1]:
        latin = " (a Latin letter)" if re.search("[A-Za-z]", unknown[0]) else ""
        yield "outputs", f"{reference!r} holds the unknown letter {unknown[0]!r}{latin}", remedy
    elif len(set(letters)) < len(letters):
        yield "outputs", f"{reference!r} holds a letter twice", remedy
    elif letters != sorted(letters):
        yield "outputs", f"{reference!r} has its letters out of order", remedy
    elif len(letters) > answer_format.max_choices:
        yield "outputs", f"{reference!r} holds {len(letters)} letters, at most {answer_format.max_choices} fit", remedy
    elif answer_format.with_phrase and not accepted_answers(unit, phrase=False):
        yield "outputs", f"{reference!r} lacks the language unit behind the letter", remedy


def split_reference(reference: str, answer_format: AnswerFormat) -> tuple[list[str], str]:
    """Split a reference of letters into its letters and its language unit (empty where the format has none)."""
    if answer_format.with_phrase:
        letter, _, unit = reference.strip().partition("; ")
        return [letter], unit.strip()
    return reference.strip().split("; "), ""


def has_reference(row: Row) -> bool:
    """Whether the row has an answer to compare with. Closed answers are `""` or None."""
    return bool((row.get("outputs") or "").strip())


def row_id(row: Any) -> int | None:
    """The row's `meta.id`; None if it has none."""
    meta = row.get("meta") if isinstance(row, Mapping) else None
    identity = meta.get("id") if isinstance(meta, Mapping) else None
    return identity if isinstance(identity, int) and not isinstance(identity, bool) else None


def _kind(value: Any) -> str:
    """What a JSON value is, in words."""
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    return "an object" if isinstance(value, Mapping) else names.get(type(value), type(value).__name__)


def _name_of(wanted: type) -> str:
    return "a string" if wanted is str else "an object"
