"""Define the rules for the rows of a benchmark, which `RULES` lists and `check_rows` applies."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat, Benchmark, option_names
from mera_ru_tasks.issues import Issue, Location, Severity
from mera_ru_tasks.scoring.strict import entries_of
from mera_ru_tasks.textutil import LONE_SURROGATE, plural

Row = Mapping[str, Any]
# A mapping from each split to its location (a file or hub split, for messages) and its rows.
Splits = Mapping[str, tuple[str, Sequence[Any]]]


@dataclass(frozen=True)
class Rule:
    """A rule for rows.

    Attributes:
        severity: `error` if a run must not use a row that violates the rule, otherwise `warning`.
        reason: why the rule exists, or what the package does with such a row.
    """

    severity: Severity
    reason: str


RULES: Mapping[str, Rule] = {
    "row-type": Rule("error", "A row that is not an object has no question."),
    "missing-field": Rule("error", "Without the field, the row has no prompt, id, group or type."),
    "wrong-type": Rule("error", "A value of this type cannot be shown or compared reliably."),
    "empty-field": Rule("error", "The instruction or an input that it shows is empty, so the question is incomplete."),
    "unknown-type": Rule("error", "The answer format depends on the type."),
    "unknown-prompt": Rule("error", "Without the prompt, the row has no instruction."),
    "duplicate-id": Rule("error", "Responses, logs and submissions are matched by id within a split."),
    "no-answer": Rule("error", "No response can match a reference without a word."),
    "unknown-choice": Rule("error", "No response can match a letter that is not an option of the row."),
    "repeated-choice": Rule("error", "No response can match a letter that occurs twice."),
    "too-many-choices": Rule("error", "The reference contradicts the task's answer format."),
    "missing-phrase": Rule("error", "The answer format requires a phrase after the letter."),
    "wrong-options": Rule("error", "The row has fewer than two options, or more than the answer format has letters."),
    "unstorable-value": Rule("error", "A prompt, reference, id, type or group with such a value cannot be stored."),
    "missing-outputs": Rule("warning", "The row is treated as closed and gets no score."),
    "shared-id": Rule("warning", "A shot is never used as an example for a test row with the same id."),
    "absent-input": Rule("warning", "The card lists the input, but the instruction does not show it."),
    "number-as-text": Rule("warning", "A whole number is converted to text."),
    "text-as-number": Rule("warning", "A string of digits is converted to a number."),
    "reference-form": Rule(
        "warning",
        "Other separators, spaces and lower case are accepted. Like the leaderboard, `strict-match` compares with the "
        "reference exactly as written.",
    ),
    "unordered-choices": Rule(
        "warning", "`flexible-extract` accepts the letters in any order, and `strict-match` only in the written order."
    ),
    "unstorable-meta": Rule("warning", "The `meta` field is not needed, so the documents do not contain it."),
}


@dataclass(frozen=True)
class _Violation:
    """A violation of a rule, without the row's location."""

    code: str
    field: str
    message: str
    hint: str


@dataclass(frozen=True)
class PlacedRow:
    """A valid row with its location.

    Attributes:
        split: `test` or `shots`.
        file: the file or hub split.
        number: the number of the row in the file or split, starting at 1.
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
        """Return the reference answer, or an empty string if it is closed."""
        return (self.content["outputs"] or "").strip()

    def kind(self, benchmark: Benchmark) -> str:
        """Return the row's type as a string, or `all` for a benchmark without types."""
        return str(self.content["meta"][benchmark.type_field]) if benchmark.type_field else "all"

    def at(self, field: str) -> Location:
        """Return the location of one of the row's fields."""
        return Location(self.file, self.number, self.id, field)


def rule_issue(code: str, location: Location, message: str, hint: str) -> Issue:
    """Return an issue for a violated rule, with the severity of the rule."""
    return Issue(code, RULES[code].severity, location, message, hint)


def check_rows(splits: Splits, benchmark: Benchmark) -> Iterator[Issue]:
    """Check all rows of all splits, lazily and in order.

    Args:
        splits: the splits to check.
        benchmark: the benchmark of the rows.
    """
    seen: dict[int, tuple[str, str]] = {}
    types: dict[str, tuple[str, str]] = {}
    for split, (file, rows) in splits.items():
        for number, row in enumerate(rows, start=1):
            identity = row_id(row)
            location = f"{file}, row {number}"
            for found in itertools.chain(
                check_row(row, benchmark), _check_further_meta(row, benchmark, location, types)
            ):
                yield rule_issue(found.code, Location(file, number, identity, found.field), found.message, found.hint)
            if identity is None:
                continue
            if identity in seen:
                other_split, where = seen[identity]
                yield rule_issue(
                    "duplicate-id" if other_split == split else "shared-id",
                    Location(file, number, identity, "meta.id"), f"the id is already used in {where}",
                    "Give one of the rows another id. Ids should be unique across test and shots.",
                )  # fmt: skip
            else:
                seen[identity] = (split, location)


def further_meta(splits: Splits, benchmark: Benchmark) -> list[str]:
    """Return the sorted names of the additional `meta` fields that documents keep.

    Documents are stored in columns with one type each, so a field with values of several types is left out.
    """
    types: dict[str, tuple[str, str]] = {}
    names: set[str] = set()
    left_out: set[str] = set()
    for _, rows in splits.values():
        for row in rows:
            names |= row["meta"].keys()
            left_out |= {found.field for found in _check_further_meta(row, benchmark, "", types, whole_field=True)}
    return sorted(names - left_out - known_meta(benchmark))


def known_meta(benchmark: Benchmark) -> set[str]:
    """Return the names of the `meta` fields that have a meaning in the benchmark."""
    return {"id", "group_size", *benchmark.meta}


def _check_further_meta(
    row: Any, benchmark: Benchmark, location: str, types: dict[str, tuple[str, str]], *, whole_field: bool = False
) -> Iterator[_Violation]:
    """Find additional `meta` fields that cannot be stored in a column with one type.

    Args:
        row: the row.
        benchmark: the benchmark of the row; the `meta` fields that it defines are not checked here.
        location: the file and number of the row.
        types: a mapping from paths to the first type found and its location. All calls share it.
        whole_field: True to report the name of the field instead of the path within it.
    """
    meta = row.get("meta") if isinstance(row, Mapping) else None
    known = known_meta(benchmark)
    for name, value in meta.items() if isinstance(meta, Mapping) else ():
        if name in known:
            continue
        hint = "Write the field with one type in all rows, or remove it."
        issue = next(_check_values({name: value}, "meta", depth=1), None)
        if issue is not None:
            field = name if whole_field else issue.field
            yield _Violation("unstorable-meta", field, issue.message, issue.hint)
            continue
        for path, found in _types_within(value, f"meta.{name}"):
            first, where = types.setdefault(path, (found, location))
            if found != first:
                field = name if whole_field else path
                yield _Violation("unstorable-meta", field, f"it is {found}, but {first} in {where}", hint)


def _types_within(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and type of a value and of every value in it; `[]` in a path means the elements of a list."""
    if value is None:
        return
    # Up to this size, a column can contain integers and fractions.
    is_small = type(value) is int and abs(value) <= 2**53
    yield path, "a number" if is_small else _type_name(value)
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _types_within(part, f"{path}.{name}")
    elif isinstance(value, list):
        for part in value:
            yield from _types_within(part, f"{path}[]")


def tidy_rows(splits: Splits, benchmark: Benchmark) -> tuple[dict[str, tuple[str, list[Any]]], list[Issue]]:
    """Convert values of a harmless wrong type to the required type.

    Args:
        splits: the rows as they are stored.
        benchmark: the benchmark of the rows.

    Returns:
        The converted rows, and a warning for each change. Integers in `inputs` and `outputs` become strings, strings of
        digits in the benchmark's `meta` fields become integers, and missing `outputs` become empty.
    """
    tidied: dict[str, tuple[str, list[Any]]] = {}
    issues: list[Issue] = []
    for split, (file, rows) in splits.items():
        tidied[split] = (file, [])
        for number, row in enumerate(rows, start=1):
            changed, found = _tidy(row, benchmark) if isinstance(row, Mapping) else (row, [])
            tidied[split][1].append(changed)
            for one in found:
                location = Location(file, number, row_id(changed), one.field)
                issues.append(rule_issue(one.code, location, one.message, one.hint))
    return tidied, issues


def _tidy(row: Row, benchmark: Benchmark) -> tuple[Row, list[_Violation]]:
    found: list[_Violation] = []

    def as_text(value: Any, field: str) -> Any:
        if type(value) is not int or abs(value) > _LARGEST:
            return value
        found.append(_Violation("number-as-text", field, f"it is the number {value}, not a string", _AS_STRING))
        return str(value)

    def as_number(value: Any, field: str) -> Any:
        if not (isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value)) and not (
            isinstance(value, float) and value.is_integer() and abs(value) < 2**53
        ):
            return value
        message = f"it is {value!r}, not an integer"
        found.append(_Violation("text-as-number", field, message, "Write it as an integer."))
        return int(value)

    changed = dict(row)
    if "outputs" not in row:
        found.append(_Violation("missing-outputs", "outputs", "the field is missing", "Add it as a string."))
    changed["outputs"] = as_text(row.get("outputs", ""), "outputs")
    if isinstance(row.get("inputs"), Mapping):
        changed["inputs"] = {name: as_text(value, f"inputs.{name}") for name, value in row["inputs"].items()}
    if isinstance(row.get("meta"), Mapping):
        numbers = {"id", *benchmark.meta} - ({benchmark.type_field} if benchmark.has_text_types else set())
        changed["meta"] = {
            name: as_number(value, f"meta.{name}") if name in numbers else value for name, value in row["meta"].items()
        }
        if benchmark.has_text_types and type(kind := row["meta"].get(benchmark.type_field)) is int:
            changed["meta"][benchmark.type_field] = str(kind)
    return changed, found


_AS_STRING = "Write it as a string."


def check_row(row: Any, benchmark: Benchmark) -> Iterator[_Violation]:
    """Check one row without regard to other rows."""
    if not isinstance(row, Mapping):
        message = f"it is {_type_name(row)}, not an object"
        yield _Violation("row-type", "row", message, "Each row needs instruction, inputs, outputs and meta.")
        return
    for name, wanted in (("instruction", "a string"), ("inputs", "an object"), ("outputs", "a string"),
                         ("meta", "an object")):  # fmt: skip
        if name not in row:
            if name != "outputs":  # a row without outputs is closed
                yield _Violation("missing-field", name, "the field is missing", f"Add it as {wanted}.")
        elif name == "outputs" and row[name] is None:
            continue  # a closed answer
        elif not isinstance(row[name], str if wanted == "a string" else Mapping):
            message = f"it is {_type_name(row[name])}, not {wanted}"
            yield _Violation("wrong-type", name, message, f"Write it as {wanted}.")
        elif name != "meta":
            yield from _check_values(row[name], name)
    if isinstance(row.get("instruction"), str) and not row["instruction"].strip():
        hint = "Write the template of the prompt, or its index in dataset_meta.json."
        yield _Violation("empty-field", "instruction", "it is empty", hint)
    if isinstance(row.get("inputs"), Mapping):
        yield from _check_inputs(row, benchmark)
    if isinstance(row.get("meta"), Mapping):
        yield from _check_meta(row["meta"], benchmark)
        answer_format = format_of(row, benchmark)
        if isinstance(row.get("outputs"), str) and answer_format is not None:
            yield from _check_reference(row["outputs"], answer_format)


_LARGEST = 2**63 - 1
_DEEPEST = 16


def _check_values(value: Any, path: str, depth: int = 0) -> Iterator[_Violation]:
    """Find values at any depth that JSON can express but documents cannot store."""
    if depth > _DEEPEST:
        hint = f"A row may contain at most {_DEEPEST} levels of objects and lists."
        yield _Violation("unstorable-value", path, "it is nested too deeply", hint)
    elif isinstance(value, Mapping):
        for name, part in value.items():
            inner = f"{path}.{name}".lstrip(".")
            if LONE_SURROGATE.search(name):
                message = "the name contains half a character (a lone surrogate)"
                yield _Violation("unstorable-value", ascii(inner), message, "Retype the name.")
            else:
                yield from _check_values(part, inner, depth + 1)
    elif isinstance(value, list):
        for part in value:
            yield from _check_values(part, path, depth + 1)
    elif isinstance(value, str) and (half := LONE_SURROGATE.search(value)):
        message = f"character {half.start() + 1} is a lone surrogate, which is half of a character ({half[0]!a})"
        yield _Violation(
            "unstorable-value", path, message, "Restore the text, which was truncated or decoded incorrectly."
        )
    elif isinstance(value, int) and abs(value) > _LARGEST:
        message = f"the integer {value} is too large"
        yield _Violation("unstorable-value", path, message, f"The largest integer is {_LARGEST}.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield _Violation("unstorable-value", path, f"it is {value}, which is not a number", "Write a number, or null.")


def format_of(row: Row, benchmark: Benchmark) -> AnswerFormat | None:
    """Return the row's answer format, or None if the row's type is unknown.

    If the benchmark sets `options`, the format has one letter for each option of the row.
    """
    found = _format_of_type(row, benchmark)
    options = _filled_options(row, benchmark.options) if benchmark.options else 0
    if found is None or not found.choices or options < _FEWEST:
        return found
    return replace(found, choices=found.choices[:options], max_choices=min(found.max_choices, options))


def _format_of_type(row: Row, benchmark: Benchmark) -> AnswerFormat | None:
    kind = row["meta"].get(benchmark.type_field) if benchmark.type_field else None
    found = benchmark.formats.get(kind) if isinstance(kind, (int, str)) else None
    return found or benchmark.formats.get(None)


# With fewer options, there is no choice.
_FEWEST = 2


def _filled_options(row: Row, prefix: str) -> int:
    """Return the number of options in a row, which is the position of the last option that is not empty."""
    given = row.get("inputs")
    inputs = given if isinstance(given, Mapping) else {}
    names = option_names(inputs, prefix)
    return max((position for position, name in enumerate(names, start=1) if inputs[name]), default=0)


def _check_inputs(row: Row, benchmark: Benchmark) -> Iterator[_Violation]:
    inputs, instruction = row["inputs"], row.get("instruction")
    for name, value in inputs.items():
        if value is not None and not isinstance(value, str):
            yield _Violation("wrong-type", f"inputs.{name}", f"it is {_type_name(value)}, not a string", _AS_STRING)
    for name in benchmark.inputs:
        value = inputs.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            message = "it is empty" if name in inputs else "it is missing"
            if isinstance(instruction, str) and f"{{{name}}}" in instruction:
                hint = "Fill it, because the instruction uses it."
                yield _Violation("empty-field", f"inputs.{name}", message, hint)
            else:
                hint = f"Fill it, because the data card of {benchmark.title} requires it."
                yield _Violation("absent-input", f"inputs.{name}", message, hint)
    if benchmark.options and isinstance(row.get("meta"), Mapping):
        found = _format_of_type(row, benchmark)
        options = _filled_options(row, benchmark.options)
        if found is not None and found.choices and not _FEWEST <= options <= len(found.choices):
            inputs = plural(options, "input", "inputs")
            message = f"the row has {options} {inputs} `{benchmark.options}…`, but the choices are {found.choices}"
            hint = "Correct the options, `choices` in `mera_ru_answer`, or the prefix in `mera_ru_options`."
            yield _Violation("wrong-options", "inputs", message, hint)


def _check_meta(meta: Mapping[str, Any], benchmark: Benchmark) -> Iterator[_Violation]:
    for name in ("id", *benchmark.meta):
        field, value = f"meta.{name}", meta.get(name)
        is_type = name == benchmark.type_field
        wanted = "a string or an integer" if is_type and benchmark.has_text_types else "an integer"
        if value is None:
            yield _Violation("missing-field", field, "the field is missing", f"Add it as {wanted}.")
        elif isinstance(value, bool) or not isinstance(value, (int, str) if wanted.startswith("a string") else int):
            message = f"it is {_type_name(value)}, not {wanted}"
            yield _Violation("wrong-type", field, message, f"Write it as {wanted}.")
        elif is_type and value not in benchmark.formats and None not in benchmark.formats:
            known = ", ".join(map(str, benchmark.formats))
            message = f"the type {value!r} is unknown"
            yield _Violation("unknown-type", field, message, f"{benchmark.title} has the types {known}.")
        else:
            yield from _check_values(value, field)


def _check_reference(reference: str, answer_format: AnswerFormat) -> Iterator[_Violation]:
    text = reference.strip()
    if not text:
        return  # a closed answer
    if not answer_format.choices:
        entries = entries_of(text, is_list=answer_format.is_list)
        if not entries:
            hint = "Write the accepted answers, separated by `; `."
            yield _Violation("no-answer", "outputs", f"{reference!r} contains no word", hint)
        elif (joined := "; ".join(entries)) != text:
            yield _Violation("reference-form", "outputs", f"{reference!r} is interpreted as {joined!r}", _JOIN)
        return
    written, phrase = _parts(text, answer_format)
    known = ", ".join(answer_format.choices)
    sample = "; ".join(answer_format.choices[: min(2, answer_format.max_choices)]) + (
        "; слово" if answer_format.with_phrase else ""
    )
    if answer_format.max_choices > 1:
        what = f"the letters as Cyrillic capitals ({known}), in alphabetical order and separated by `; `"
    else:
        phrase_too = ", `; ` and a phrase" if answer_format.with_phrase else ""
        what = f"one Cyrillic capital letter ({known}){phrase_too}"
    hint = f"Write {what}, as in `{sample}`."
    letters = [letter.upper() for letter in written]
    if unknown := [letter for letter in letters if letter not in answer_format.choices or len(letter) != 1]:
        latin = " (a Latin letter)" if re.search("[A-Za-z]", unknown[0]) else ""
        message = f"{reference!r} contains the unknown letter {unknown[0]!r}{latin}"
        yield _Violation("unknown-choice", "outputs", message, hint)
    elif len(set(letters)) < len(letters):
        yield _Violation("repeated-choice", "outputs", f"{reference!r} contains a letter twice", hint)
    elif len(letters) > answer_format.max_choices:
        most = answer_format.max_choices
        message = (
            f"{reference!r} contains {len(letters)} letters, but at most {most} {plural(most, 'is', 'are')} allowed"
        )
        yield _Violation("too-many-choices", "outputs", message, hint)
    elif answer_format.with_phrase and not entries_of(phrase, is_list=False):
        yield _Violation("missing-phrase", "outputs", f"{reference!r} has no phrase after the letter", hint)
    else:
        hint += _AS_WRITTEN
        if letters != sorted(letters, key=answer_format.choices.index):
            yield _Violation("unordered-choices", "outputs", f"the letters of {reference!r} are not in order", hint)
        if "; ".join([*letters, *([phrase] if answer_format.with_phrase else [])]) != text:
            message = f"the separators, spaces or letters in {reference!r} differ from the format `{sample}`"
            yield _Violation("reference-form", "outputs", message, hint)


_JOIN = "Separate the accepted answers by `; `."
# The effect of an unusual reference on the scores.
_AS_WRITTEN = " `flexible-extract` accepts this reference, but `strict-match` compares with it exactly as written."


def _parts(reference: str, answer_format: AnswerFormat) -> tuple[list[str], str]:
    """Split a reference into its letters, in the order written, and its phrase. Accept any separators."""
    text = reference.strip()
    if answer_format.with_phrase:
        letter, _, phrase = re.sub("[;,]", ";", text, count=1).partition(";")
        return [letter.strip()], phrase.strip()
    return [part for part in (part.strip(" .\t\n") for part in re.split("[;,]", text)) if part], ""


def split_reference(reference: str, answer_format: AnswerFormat) -> tuple[list[str], str]:
    """Split a reference into its letters and its phrase, which is empty if the format has none.

    The letters are returned as capitals in alphabetical order. References such as `В;лента`, `А,Е` and `е; а` are also
    accepted.
    """
    letters, phrase = _parts(reference, answer_format)
    capitals = [letter.upper() if letter.upper() in answer_format.choices else letter for letter in letters]
    return sorted(capitals, key=answer_format.choices.find), phrase


def has_reference(row: Row) -> bool:
    """Return True if the row has a reference answer. A closed answer is `""` or None."""
    return bool(str(row.get("outputs") or "").strip())


def question_of(row: Row) -> tuple[Any, dict[str, Any]]:
    """Return the values that identify a question: its instruction and its inputs that are not empty."""
    inputs = row.get("inputs")
    filled = {name: value for name, value in inputs.items() if value} if isinstance(inputs, Mapping) else {}
    return row.get("instruction"), filled


def row_id(row: Any) -> int | None:
    """Return the row's `meta.id`, or None if it is not an integer."""
    meta = row.get("meta") if isinstance(row, Mapping) else None
    identity = meta.get("id") if isinstance(meta, Mapping) else None
    return identity if isinstance(identity, int) and not isinstance(identity, bool) else None


def _type_name(value: Any) -> str:
    """Return the type of a JSON value in words."""
    names = {
        type(None): "null",
        bool: "a boolean",
        int: "an integer",
        float: "a number",
        str: "a string",
        list: "a list",
    }
    return "an object" if isinstance(value, Mapping) else names.get(type(value), type(value).__name__)
