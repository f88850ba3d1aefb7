"""Reading one sample log of lm-eval: a line for each document and pipeline, checked as it is read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import benchmark_of_task
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.scoring.metrics import STRICT

# The names of the pipelines in the YAML files.


@dataclass(frozen=True)
class Sample:
    """One line of a sample log: one document in one pipeline.

    Attributes:
        place: the file and line, for messages.
        doc_id: the document's number in its split, from 0.
        doc: the document (see `data`).
        pipeline: the pipeline's name.
        prompt: what the model was given, with a chat template applied if there was one.
        generation: the generation settings sent with the prompt.
        response: what the model wrote, whole; the first where there are several, as the pipelines take it.
        filtered: what the pipeline made of it.
        metrics: the metrics' parts, by name; empty for a document without a reference and in a `--predict_only` run.
        doc_hash: lm-eval's hash of the document.
        prompt_hash: lm-eval's hash of the prompt.
    """

    place: str
    doc_id: int
    doc: Mapping[str, Any]
    pipeline: str
    prompt: str
    generation: Mapping[str, Any]
    response: str
    filtered: str
    metrics: Mapping[str, Any]
    doc_hash: str
    prompt_hash: str


def read_samples(file: Path) -> Iterator[Sample]:
    """Read a sample log lazily, in its order.

    Raises:
        RunError: a line is cut, is no JSON or is no sample; the message names file and line.
    """
    with file.open("rb") as lines:
        yield from parse_samples(lines, str(file))


def parse_samples(lines: Iterable[bytes], file: str) -> Iterator[Sample]:
    """Parse the lines of a sample log; `file` is its name for messages.

    Lines are bytes, split at line feeds alone: as text, a response's other line separators would end lines too.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield parse_sample(f"{file}, line {number}", line)


def parse_sample(place: str, line: bytes) -> Sample:
    """Parse one line; `place` is its file and number, for messages.

    Raises:
        RunError: the line is cut, is no JSON or is no sample.
    """
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # broken UTF-8 or JSON, or a number too long
        cut = " The last line is cut: the run or a copy of it stopped half-way." if not line.endswith(b"\n") else ""
        raise RunError(f"{place}: it is not valid JSON ({error}).{cut} Copy the log again, or run again.") from error
    if not isinstance(row, dict):
        raise RunError(f"{place}: it is no JSON object, so no sample of lm-eval.")
    try:
        return Sample(
            place=place,
            doc_id=_typed(row, "doc_id", int),
            doc=_typed(row, "doc", dict),
            pipeline=_typed(row, "filter", str),
            prompt=_prompt(_arguments(row)),
            generation=_generation(_arguments(row)),
            response=_response(row),
            filtered=_first(row, "filtered_resps"),
            metrics={name: row.get(name) for name in _names(row, "metrics") if name != "bypass"},
            doc_hash=_typed(row, "doc_hash", str),
            prompt_hash=_typed(row, "prompt_hash", str),
        )
    except _FieldError as field:
        raise RunError(
            f"{place}: the field `{field}` is missing or not as lm-eval 0.4.12 and later write it. "
            "Make the log with a newer lm-eval."
        ) from None


# What else a user's own rows hold in `meta` is theirs.
_NUMBERS = ("id", "type", "task_type", "group_id", "group_size")
_FORMAT = {"choices": str, "max_choices": int, "with_phrase": bool}


def check_document(sample: Sample, task: str) -> None:
    """Raise RunError unless a sample's document is as our loader makes those of the task."""
    doc = sample.doc
    inputs, meta, answer_format = doc.get("inputs"), doc.get("meta"), doc.get("answer_format")
    numbers = _NUMBERS if benchmark_of_task(task) else ("id",)
    good = {
        "instruction": isinstance(doc.get("instruction"), str),
        "inputs": isinstance(inputs, Mapping) and all(isinstance(text, str) for text in inputs.values()),
        "outputs": isinstance(doc.get("outputs"), str),
        "meta": isinstance(meta, Mapping) and all(isinstance(meta.get(name, 0), int) for name in numbers),
        "answer_format": isinstance(answer_format, Mapping)
        and {name: type(value) for name, value in answer_format.items()} == _FORMAT,
    }
    for name, is_good in good.items():
        if not is_good:
            raise RunError(
                f"{sample.place}: the document's field `{name}` is not as this package's loader makes it, so this is "
                "no log of its task. Run the task as the package defines it."
            )


class _FieldError(Exception):
    """A sample's field is missing or has another form; the message is its name."""


def _typed(row: Mapping[str, Any], field: str, kind: type) -> Any:
    value = row.get(field)
    if not isinstance(value, kind):
        raise _FieldError(field)
    return value


def _names(row: Mapping[str, Any], field: str) -> list[str]:
    names: list[str] = _typed(row, field, list)
    if not all(isinstance(name, str) for name in names):
        raise _FieldError(field)
    return names


def _first(row: Mapping[str, Any], field: str) -> str:
    """The first of the field's strings; `resps` holds a list of them for each request."""
    value = row.get(field)
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise _FieldError(field)
    return value


def _response(row: Mapping[str, Any]) -> str:
    response = _first(row, "resps")
    # lm-eval logs an API's empty message (None) as the text "None"; the pipeline that hands responses on whole has "".
    absent = response == "None" and row["filter"] == STRICT and _first(row, "filtered_resps") == ""
    return "" if absent else response


def _arguments(row: Mapping[str, Any]) -> Mapping[str, Any]:
    first = _typed(row, "arguments", dict).get("gen_args_0")
    if not isinstance(first, dict):
        raise _FieldError("arguments")
    return first


def _prompt(arguments: Mapping[str, Any]) -> str:
    """The prompt's text; a chat API's prompt is the JSON of its messages, in a list of one."""
    return _first(arguments, "arg_0")


def _generation(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = arguments.get("arg_1")
    return settings if isinstance(settings, dict) else {}
