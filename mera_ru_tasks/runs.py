"""Finding and reading the logs that lm-eval leaves behind with `--log_samples --output_path DIR`.

One call of lm-eval (a `Run`) writes `DIR/MODEL/results_DATE.json` and, for each task (a `TaskLog`), one
`DIR/MODEL/samples_TASK_DATE.jsonl`: a line (a `Sample`) for each document and pipeline. With an `--output_path` that
ends in `.json`, the files lie beside it without a model's folder. Source: lm-eval's `EvaluationTracker`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mera_ru_tasks.errors import RunError

_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
_SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE})\.jsonl", re.DOTALL)
_RESULTS_NAME = re.compile(rf"(?P<stem>.+)_(?P<date>{_DATE})\.json", re.DOTALL)

# What this package writes beside lm-eval's logs begins so and is never taken for them.
OWN_PREFIXES = ("judged_", "scored_")

# A sample log is looked for in the folder named and this many levels below: `results/EXPERIMENT/MODEL` is common.
_LEVELS = 2

STRICT = "strict-match"
FLEXIBLE = "flexible-extract"


@dataclass(frozen=True)
class Run:
    """One call of lm-eval.

    Attributes:
        folder: where its files are.
        date: when it ended, as lm-eval writes it into its file names; sorts by time.
        results_file: lm-eval's results JSON; None where it is not beside the samples.
    """

    folder: Path
    date: str
    results_file: Path | None

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of the results file, empty where there is none. Raises RunError for a broken file."""
        if self.results_file is None:
            return {}
        remedy = "Delete it to go on without the run's settings, or run again."
        try:
            content = json.loads(self.results_file.read_bytes().decode("utf-8"))
        except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
            raise RunError(f"{self.results_file} is not valid JSON ({error}); it may be cut. {remedy}") from error
        if not isinstance(content, Mapping):
            raise RunError(f"{self.results_file} holds no JSON object. {remedy}")
        return content

    @property
    def model(self) -> str:
        """The model's name from its arguments; without results the folder's, in which lm-eval replaced `/` by `__`."""
        name = self.results.get("model_name")
        return name if isinstance(name, str) and name else self.folder.resolve().name

    @property
    def config(self) -> Mapping[str, Any]:
        """What the whole run was called with: `model`, `model_args`, `limit`, `gen_kwargs`, seeds and more."""
        return _mapping(self.results.get("config"))


@dataclass(frozen=True)
class TaskLog:
    """The sample log of one task of a run.

    Attributes:
        run: the call of lm-eval that wrote it.
        task: the task's name.
        file: the sample log.
    """

    run: Run
    task: str
    file: Path

    @property
    def config(self) -> Mapping[str, Any]:
        """The task's own configuration as it ran (`generation_kwargs`, `metadata`, …); empty without results."""
        return _mapping(_mapping(self.run.results.get("configs")).get(self.task))

    @property
    def version(self) -> Any:
        """The task's version; None without results."""
        return _mapping(self.run.results.get("versions")).get(self.task)

    @property
    def num_fewshot(self) -> Any:
        """How many shots each prompt had; None without results."""
        return _mapping(self.run.results.get("n-shot")).get(self.task)

    @property
    def scores(self) -> Mapping[str, Any]:
        """lm-eval's own numbers, keyed `METRIC,PIPELINE`; in a `--predict_only` run only `bypass`."""
        return _mapping(_mapping(self.run.results.get("results")).get(self.task))

    @property
    def document_counts(self) -> tuple[int, int] | None:
        """How many documents the task has and how many were run (fewer with `--limit`); None without results."""
        counts = _mapping(_mapping(self.run.results.get("n-samples")).get(self.task))
        original, effective = counts.get("original"), counts.get("effective")
        return (original, effective) if isinstance(original, int) and isinstance(effective, int) else None

    def samples(self, pipeline: str | None = None) -> Iterator[Sample]:
        """Read the log lazily, in its order.

        Args:
            pipeline: only the rows of this pipeline; default: all rows.

        Raises:
            RunError: a line is cut, is no JSON or is no sample; the message names file and line.
        """
        with self.file.open("rb") as lines:
            # Bytes are split at line feeds alone; as text, a response's other line separators would end lines too.
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    sample = _sample(self.file, number, line)
                    if pipeline is None or sample.pipeline == pipeline:
                        yield sample


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


def find_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the sample logs that `paths` name.

    Args:
        paths: lm-eval's output folder, a model's folder in it, sample logs, or results files (for all logs of the run).

    Returns:
        Every log once, sorted by model, task and date.

    Raises:
        RunError: a path does not exist, holds no sample log or is none; the message says what is there.
    """
    files = {file.resolve(): file for path in paths for file in _sample_files(path)}
    runs: dict[tuple[Path, str], Run] = {}
    logs = []
    for file in files.values():
        name = _SAMPLES_NAME.fullmatch(file.name)
        assert name is not None, "only files with a sample log's name were found"
        date = name["date"]
        run = runs.setdefault((file.parent.resolve(), date), Run(file.parent, date, _results_file(file.parent, date)))
        logs.append(TaskLog(run, name["task"], file))
    return sorted(logs, key=lambda log: (log.run.model, log.task, log.run.date, str(log.file)))


def newest(logs: Iterable[TaskLog]) -> list[TaskLog]:
    """Keep the newest log of each model and task, in the order given."""
    latest: dict[tuple[str, str], TaskLog] = {}
    for log in sorted(logs, key=lambda log: (log.run.date, str(log.file))):
        latest[log.run.model, log.task] = log
    return sorted(latest.values(), key=lambda log: (log.run.model, log.task))


def _sample_files(path: Path) -> list[Path]:
    if path.is_dir():
        patterns = ["*/" * level + "samples_*.jsonl" for level in range(_LEVELS + 1)]
        found = [file for pattern in patterns for file in sorted(path.glob(pattern))]
        return [file for file in found if _SAMPLES_NAME.fullmatch(file.name) and file.is_file()] or _nothing_in(path)
    if not path.exists():
        raise RunError(f"{path} does not exist. Name the folder that lm-eval's --output_path named, or files in it.")
    if _SAMPLES_NAME.fullmatch(path.name):
        return [path]
    results = _RESULTS_NAME.fullmatch(path.name)
    if not results or path.name.startswith(OWN_PREFIXES):
        raise RunError(
            f"{path} is no log of lm-eval by its name. Name a sample log (samples_TASK_DATE.jsonl), a results file "
            "(results_DATE.json) or the folder that holds them, under the names that lm-eval gave them."
        )
    beside = sorted(path.parent.glob("samples_*.jsonl"))
    named = [(file, _SAMPLES_NAME.fullmatch(file.name)) for file in beside]
    return [file for file, name in named if name and name["date"] == results["date"]] or _nothing_in(path)


def _nothing_in(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    names = sorted(entry.name for entry in folder.iterdir())
    holds = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") if names else "nothing"
    where = f"{folder} or two levels of folders below it" if path.is_dir() else f"{folder} for this results file"
    ran = not path.is_dir() or any(path.glob("results_*.json")) or any(path.glob("*/results_*.json"))
    why = (
        "lm-eval ran without --log_samples, so the responses were not kept. Run it again with"
        if ran
        else "Name the folder that lm-eval's --output_path named, or run lm-eval with"
    )
    raise RunError(
        f"No sample log of lm-eval (samples_TASK_DATE.jsonl) is in {where}; {folder} holds: {holds}. "
        f"{why} `--log_samples --output_path DIR`."
    )


def _results_file(folder: Path, date: str) -> Path | None:
    """The results file of the run; `results_` is another stem where `--output_path` named a file."""
    usual = folder / f"results_{date}.json"
    if usual.is_file():
        return usual
    others = [file for file in sorted(folder.glob(f"*_{date}.json")) if not file.name.startswith(OWN_PREFIXES)]
    return others[0] if others else None


def _sample(file: Path, number: int, line: bytes) -> Sample:
    place = f"{file}, line {number}"
    try:
        row = json.loads(line.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        cut = " The last line is cut: the run or a copy of it stopped half-way." if not line.endswith(b"\n") else ""
        raise RunError(f"{place}: it is not valid JSON ({error}).{cut} Copy the log again, or run again.") from error
    if not isinstance(row, Mapping):
        raise RunError(f"{place}: it is no JSON object, so no sample of lm-eval.")
    try:
        return Sample(
            place=place,
            doc_id=_typed(row, "doc_id", int),
            doc=_typed(row, "doc", Mapping),
            pipeline=_typed(row, "filter", str),
            prompt=_prompt(_arguments(row)),
            generation=_mapping(_arguments(row).get("arg_1")),
            response=_response(row),
            filtered=_first(row, "filtered_resps"),
            metrics={name: row.get(name) for name in _typed(row, "metrics", list) if name != "bypass"},
            doc_hash=_typed(row, "doc_hash", str),
            prompt_hash=_typed(row, "prompt_hash", str),
        )
    except _FieldError as field:
        raise RunError(
            f"{place}: the field `{field}` is missing or not as lm-eval 0.4.12 and later write it. "
            "Make the log with a newer lm-eval."
        ) from None


class _FieldError(Exception):
    """A sample's field is missing or has another form; the message is its name."""


def _typed(row: Mapping[str, Any], field: str, kind: type) -> Any:
    value = row.get(field)
    if not isinstance(value, kind):
        raise _FieldError(field)
    return value


def _first(row: Mapping[str, Any], field: str) -> str:
    """The first of the field's strings; `resps` holds a list of them for each request."""
    value = row.get(field)
    while isinstance(value, Sequence) and not isinstance(value, str) and value:
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
    first = _typed(row, "arguments", Mapping).get("gen_args_0")
    if not isinstance(first, Mapping):
        raise _FieldError("arguments")
    return first


def _prompt(arguments: Mapping[str, Any]) -> str:
    """The prompt's text; a chat API's prompt is the JSON of its messages, in a list of one."""
    return _first(arguments, "arg_0")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
