"""Find and parse the logs that lm-eval writes with `--log_samples --output_path DIR`.

One call of lm-eval (a `Run`) writes `DIR/MODEL/results_DATE.json` and, for each task (a `TaskLog`), one
`DIR/MODEL/samples_TASK_DATE.jsonl` with a line (a `Sample`) for each document and filter. If `--output_path` ends in
`.json`, the files are next to that file, without a folder for the model. Source: lm-eval's `EvaluationTracker`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import benchmark_of_task
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.scoring.metrics import METRICS, STRICT

_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE})\.jsonl", re.DOTALL)
_RESULTS_NAME = re.compile(rf"(?P<stem>.+)_(?P<date>{_DATE})\.json", re.DOTALL)

# The files that this package writes beside lm-eval's logs begin like this and are never taken for logs.
OWN_PREFIXES = ("judged_", "scored_")

# Sample logs are searched in the given folder and this many levels below: `results/EXPERIMENT/MODEL` is common.
_LEVELS = 2


@dataclass(frozen=True)
class Run:
    """One call of lm-eval.

    Attributes:
        folder: the folder of its files.
        date: when it ended, as lm-eval writes it into its file names; sorts by time.
        results_file: lm-eval's results JSON; None if it is not beside the samples.
        name: the user's name for the model; None to use lm-eval's.
    """

    folder: Path
    date: str
    results_file: Path | None
    name: str | None = None

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of the results file, empty if there is none. Raises RunError for a broken file."""
        if self.results_file is None:
            return {}
        hint = "Delete it to go on without the run's settings, or run again."
        try:
            content = json.loads(self.results_file.read_bytes().decode("utf-8"))
        except (ValueError, RecursionError) as error:  # broken UTF-8 or JSON, or a number too long
            raise RunError(f"{self.results_file} is not valid JSON ({error}); it may be cut. {hint}") from error
        if not isinstance(content, Mapping):
            raise RunError(f"{self.results_file} holds no JSON object. {hint}")
        return content

    @property
    def model(self) -> str:
        """The model's name: the user's, else the one in the results, else the folder's, which has `__` for `/`."""
        if self.name is not None:
            return self.name
        name = self.results.get("model_name")
        return name if isinstance(name, str) and name else self.folder.resolve().name

    @property
    def config(self) -> Mapping[str, Any]:
        """The arguments of the whole run: `model`, `model_args`, `limit`, `gen_kwargs`, seeds and more."""
        return as_mapping(self.results.get("config"))


@dataclass(frozen=True)
class TaskLog:
    """The sample log of one task of a run.

    Attributes:
        run: the call of lm-eval that wrote the log.
        task: the task's name.
        file: the sample log.
    """

    run: Run
    task: str
    file: Path

    @property
    def config(self) -> Mapping[str, Any]:
        """The task's own configuration as it ran (`generation_kwargs`, `metadata`, …); empty without results."""
        return as_mapping(as_mapping(self.run.results.get("configs")).get(self.task))

    @property
    def version(self) -> Any:
        """The task's version; None without results."""
        return as_mapping(self.run.results.get("versions")).get(self.task)

    @property
    def num_fewshot(self) -> Any:
        """The number of shots in each prompt; None without results."""
        return as_mapping(self.run.results.get("n-shot")).get(self.task)

    @property
    def scores(self) -> Mapping[str, Any]:
        """lm-eval's own numbers, keyed `METRIC,FILTER`; in a `--predict_only` run only `bypass`."""
        return as_mapping(as_mapping(self.run.results.get("results")).get(self.task))

    @property
    def size(self) -> int | None:
        """The number of documents in the task; the log holds fewer after a `--limit`. None without results."""
        return self._count("original")

    @property
    def scored(self) -> int | None:
        """The number of documents that lm-eval ran; None without results."""
        return self._count("effective")

    def _count(self, name: str) -> int | None:
        count = as_mapping(as_mapping(self.run.results.get("n-samples")).get(self.task)).get(name)
        return count if isinstance(count, int) else None

    def samples(self, filter_name: str | None = None) -> Iterator[Sample]:
        """Read the log lazily, in its order.

        Args:
            filter_name: read only the lines of this filter; default: all lines.

        Raises:
            RunError: a line is cut, is no JSON or is no sample; the message names file and line.
        """
        for sample in read_samples(self.file):
            if filter_name is None or sample.filter == filter_name:
                yield sample


def find_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the sample logs under `paths`.

    Args:
        paths: lm-eval's output folder, a model's folder in it, sample logs, or results files (for all logs of the run).

    Returns:
        Every log once, sorted by model, task and date.

    Raises:
        RunError: a path does not exist, is no log or holds none, or a results file is broken.
    """
    return sorted(locate_logs(paths), key=lambda log: (log.run.model, log.task, log.run.date, str(log.file)))


def locate_logs(paths: Iterable[Path], name: str | None = None) -> list[TaskLog]:
    """Find the sample logs as `find_logs` does, without reading results files, sorted by path.

    Args:
        paths: as in `find_logs`.
        name: the user's name for the model of all of them.
    """
    files = {file.resolve(): file for path in paths for file in _sample_files(path)}
    runs: dict[tuple[Path, str], Run] = {}
    logs = []
    for file in files.values():
        parts = SAMPLES_NAME.fullmatch(file.name)
        assert parts is not None, "only files with a sample log's name were found"
        date = parts["date"]
        key = (file.parent.resolve(), date)
        run = runs.setdefault(key, Run(file.parent, date, _results_file(file.parent, date), name))
        logs.append(TaskLog(run, parts["task"], file))
    return sorted(logs, key=lambda log: str(log.file))


def tasks_of_run(run: Run) -> list[str]:
    """Return the tasks of one call of lm-eval, by the sample logs in its folder."""
    names = (SAMPLES_NAME.fullmatch(file.name) for file in sorted(run.folder.glob(f"samples_*_{run.date}.jsonl")))
    return [name["task"] for name in names if name]


def newest(logs: Iterable[TaskLog]) -> list[TaskLog]:
    """Keep the newest log of each model and task, sorted by model and task."""
    latest: dict[tuple[str, str], TaskLog] = {}
    for log in sorted(logs, key=lambda log: (log.run.date, str(log.file))):
        latest[log.run.model, log.task] = log
    return sorted(latest.values(), key=lambda log: (log.run.model, log.task))


def is_ours(log: TaskLog) -> bool:
    """Return True if a log is of a task of this package or of a custom task, by its first readable line."""
    if benchmark_of_task(log.task):
        return True
    with log.file.open("rb") as lines:
        for line in lines:
            try:
                return "answer_format" in parse_sample(str(log.file), line).doc
            except RunError:
                continue
    return False


def _sample_files(path: Path) -> list[Path]:
    if path.is_dir():
        patterns = ["*/" * level + "samples_*.jsonl" for level in range(_LEVELS + 1)]
        found = [file for pattern in patterns for file in sorted(path.glob(pattern))]
        return [file for file in found if SAMPLES_NAME.fullmatch(file.name) and file.is_file()] or _nothing_in(path)
    if not path.exists():
        raise RunError(f"{path} does not exist. Name the folder that lm-eval's --output_path named, or files in it.")
    if SAMPLES_NAME.fullmatch(path.name):
        return [path]
    results = _RESULTS_NAME.fullmatch(path.name)
    if not results or path.name.startswith(OWN_PREFIXES):
        raise RunError(
            f"{path} is no log of lm-eval by its name. Name a sample log (samples_TASK_DATE.jsonl), a results file "
            "(results_DATE.json) or the folder that holds them, under the names that lm-eval gave them."
        )
    beside = sorted(path.parent.glob("samples_*.jsonl"))
    named = [(file, SAMPLES_NAME.fullmatch(file.name)) for file in beside]
    return [file for file, name in named if name and name["date"] == results["date"]] or _nothing_in(path)


def _nothing_in(path: Path) -> list[Path]:
    folder = path if path.is_dir() else path.parent
    names = sorted(entry.name for entry in folder.iterdir())
    holds = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") if names else "nothing"
    where = f"in {folder} or two levels of folders below it" if path.is_dir() else f"beside {path}"
    ran = not path.is_dir() or any(path.glob("results_*.json")) or any(path.glob("*/results_*.json"))
    why = (
        "lm-eval ran without --log_samples, so the responses were not kept. Run it again with"
        if ran
        else "Name the folder that lm-eval's --output_path named, or run lm-eval with"
    )
    raise RunError(
        f"No sample log of lm-eval (samples_TASK_DATE.jsonl) is {where}; {folder} holds: {holds}. "
        f"{why} `--log_samples --output_path DIR`."
    )


def _results_file(folder: Path, date: str) -> Path | None:
    """Return the results file of a run; `results_` is another stem if `--output_path` named a file."""
    usual = folder / f"results_{date}.json"
    if usual.is_file():
        return usual
    others = [file for file in sorted(folder.glob(f"*_{date}.json")) if not file.name.startswith(OWN_PREFIXES)]
    return others[0] if others else None


@dataclass(frozen=True)
class BrokenLine:
    """A line of a log or of a file beside it that cannot be used: its number, from 1, and what is wrong with it."""

    line: int
    message: str


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, else an empty one: another program's file may have any form."""
    return value if isinstance(value, Mapping) else {}


@dataclass(frozen=True)
class Sample:
    """One line of a sample log: one document in one filter.

    Attributes:
        location: the file and line, for messages.
        doc_id: the document's number in its split, from 0.
        doc: the document (see `data`).
        filter: the filter's name.
        prompt: the prompt that the model was given, after its chat template if there is one.
        generation: the generation settings sent with the prompt.
        response: the model's whole response; the first if there are several, as the filters take it.
        filtered: the filter's result.
        metrics: the metrics' parts by name; empty for a document without a reference and after `--predict_only`.
        doc_hash: lm-eval's hash of the document.
        prompt_hash: lm-eval's hash of the prompt.
    """

    location: str
    doc_id: int
    doc: Mapping[str, Any]
    filter: str
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

    Lines are bytes, split only at line feeds: as text, they would also end at other line separators in a response.
    """
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield parse_sample(f"{file}, line {number}", line)


def parse_sample(location: str, line: bytes) -> Sample:
    """Parse one line; `location` is its file and number, for messages.

    Raises:
        RunError: the line is cut, is no JSON or is no sample.
    """
    try:
        row = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:  # broken UTF-8 or JSON, or a number too long
        cut = " The last line is cut: the run or a copy of it stopped half-way." if not line.endswith(b"\n") else ""
        raise RunError(f"{location}: it is not valid JSON ({error}).{cut} Copy the log again, or run again.") from error
    if not isinstance(row, dict):
        raise RunError(f"{location}: it is no JSON object, so no sample of lm-eval.")
    try:
        return Sample(
            location=location,
            doc_id=_typed(row, "doc_id", int),
            doc=_typed(row, "doc", dict),
            filter=_typed(row, "filter", str),
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
            f"{location}: the field `{field}` is missing or not as lm-eval 0.4.12 and later write it. "
            "Make the log with a newer lm-eval."
        ) from None


# A custom dataset's rows may hold anything else in `meta`.
_NUMBERS = ("id", "type", "task_type", "group_id", "group_size")
_FORMAT = {"choices": str, "max_choices": int, "with_phrase": bool, "whole": bool}


def check_document(sample: Sample, task: str) -> None:
    """Raise RunError unless a sample's document has the form in which this package loads the task's documents."""
    doc = sample.doc
    inputs, meta, answer_format = doc.get("inputs"), doc.get("meta"), doc.get("answer_format")
    numbers = _NUMBERS if benchmark_of_task(task) else ("id",)
    good = {
        "instruction": isinstance(doc.get("instruction"), str),
        "inputs": isinstance(inputs, Mapping) and all(isinstance(text, str) for text in inputs.values()),
        "outputs": isinstance(doc.get("outputs"), str),
        "meta": isinstance(meta, Mapping) and all(isinstance(meta.get(name, 0), int) for name in numbers),
        "answer_format": isinstance(answer_format, Mapping)
        and {name: type(value) for name, value in {"whole": False, **answer_format}.items()} == _FORMAT,
    }
    for name, is_good in good.items():
        if not is_good:
            raise RunError(
                f"{sample.location}: the document's field `{name}` is not in this package's form, so this is no log of "
                "its task. Run the task as the package defines it."
            )


def checked_part(name: str, part: Any, location: str) -> Any:
    """Return one document's part of a metric in its exact type; raise RunError if it is no score of this package."""
    if METRICS[name].grouped:
        good = isinstance(part, (list, tuple)) and len(part) == 3 and all(isinstance(number, int) for number in part)
        good = good and part[2] in (0, 1)
    else:
        good = isinstance(part, (int, float)) and 0 <= part <= 1
        part = float(part) if good else part
    if not good:
        raise RunError(f"{location}: the metric `{name}` is {part!r}, which is no score of this package. Run again.")
    return part


class _FieldError(Exception):
    """Raised for a field that is missing or has another form; the message is its name."""


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
    """Return the first of the field's strings; `resps` holds a list of them for each request."""
    value = row.get(field)
    while isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, str):
        raise _FieldError(field)
    return value


def _response(row: Mapping[str, Any]) -> str:
    response = _first(row, "resps")
    # lm-eval logs an API's empty message (None) as the text "None"; the filter that passes responses on whole has "".
    absent = response == "None" and row["filter"] == STRICT and _first(row, "filtered_resps") == ""
    return "" if absent else response


def _arguments(row: Mapping[str, Any]) -> Mapping[str, Any]:
    first = _typed(row, "arguments", dict).get("gen_args_0")
    if not isinstance(first, dict):
        raise _FieldError("arguments")
    return first


def _prompt(arguments: Mapping[str, Any]) -> str:
    """Return the prompt's text; a chat API's prompt is the JSON of its messages, in a list of one."""
    return _first(arguments, "arg_0")


def _generation(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    settings = arguments.get("arg_1")
    return settings if isinstance(settings, dict) else {}


# Arguments of a model that set where and how fast it runs, not what it writes.
_HARMLESS_ARGUMENTS = frozenset(
    "batch_size max_batch_size device device_map parallelize num_concurrent max_retries timeout base_url "
    "tensor_parallel_size data_parallel_size gpu_memory_utilization trust_remote_code token api_key header".split()
)


# The key in a task's `metadata`, which lm-eval writes into its results, of the digest of the shots in its prompts.
SHOTS = "mera_ru_shots"


def setting_of(run: Run) -> dict[str, Any]:
    """Return a run's setting by lm-eval's options (`--model_args NAME` for an argument of the model); None: not set."""
    arguments = run.config.get("model_args")
    pairs = _parse_arguments(arguments) if isinstance(arguments, str) else as_mapping(arguments)
    return {
        "--model": run.config.get("model"),
        **{f"--model_args {key}": str(value) for key, value in pairs.items() if key not in _HARMLESS_ARGUMENTS},
        "--gen_kwargs": run.config.get("gen_kwargs") or None,
        "--system_instruction": run.results.get("system_instruction") or None,
        "--apply_chat_template": run.results.get("chat_template") or None,
    }


def shots_of(log: TaskLog) -> str | None:
    """Return the digest of the shots in the prompts, empty if there are none; None if they are not known."""
    if log.run.results_file is None:
        return None
    if not log.num_fewshot:
        return ""
    digest = as_mapping(log.config.get("metadata")).get(SHOTS)
    return digest if isinstance(digest, str) and digest else None


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that differ."""
    return [name for name in {**other, **one} if one.get(name) != other.get(name)]


def _parse_arguments(arguments: str) -> dict[str, str]:
    """Parse lm-eval's `key=value,key=value`."""
    parts = (part.partition("=") for part in arguments.split(","))
    return {key.strip(): value for key, _, value in parts if key}
