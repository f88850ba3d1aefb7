"""Finding and reading the logs that lm-eval leaves behind with `--log_samples --output_path DIR`.

One call of lm-eval (a `Run`) writes `DIR/MODEL/results_DATE.json` and, for each task (a `TaskLog`), one
`DIR/MODEL/samples_TASK_DATE.jsonl`: a line (a `Sample`) for each document and pipeline. With an `--output_path` that
ends in `.json`, the files lie beside it without a model's folder. Source: lm-eval's `EvaluationTracker`.
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
from mera_ru_tasks.logs.samples import Sample, parse_sample, read_samples

_DATE = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d(?:\.\d+)?"
SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE})\.jsonl", re.DOTALL)
_RESULTS_NAME = re.compile(rf"(?P<stem>.+)_(?P<date>{_DATE})\.json", re.DOTALL)

# What this package writes beside lm-eval's logs begins so and is never taken for them.
OWN_PREFIXES = ("judged_", "scored_")

# A sample log is looked for in the folder named and this many levels below: `results/EXPERIMENT/MODEL` is common.
_LEVELS = 2


@dataclass(frozen=True)
class Run:
    """One call of lm-eval.

    Attributes:
        folder: where its files are.
        date: when it ended, as lm-eval writes it into its file names; sorts by time.
        results_file: lm-eval's results JSON; None where it is not beside the samples.
        name: what the user calls its model; None for what lm-eval does.
    """

    folder: Path
    date: str
    results_file: Path | None
    name: str | None = None

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of the results file, empty where there is none. Raises RunError for a broken file."""
        if self.results_file is None:
            return {}
        remedy = "Delete it to go on without the run's settings, or run again."
        try:
            content = json.loads(self.results_file.read_bytes().decode("utf-8"))
        except (ValueError, RecursionError) as error:  # broken UTF-8 or JSON, or a number too long
            raise RunError(f"{self.results_file} is not valid JSON ({error}); it may be cut. {remedy}") from error
        if not isinstance(content, Mapping):
            raise RunError(f"{self.results_file} holds no JSON object. {remedy}")
        return content

    @property
    def model(self) -> str:
        """The model's name: the user's, else that in its arguments, else the folder's, which has `__` for `/`."""
        if self.name is not None:
            return self.name
        name = self.results.get("model_name")
        return name if isinstance(name, str) and name else self.folder.resolve().name

    @property
    def config(self) -> Mapping[str, Any]:
        """What the whole run was called with: `model`, `model_args`, `limit`, `gen_kwargs`, seeds and more."""
        return as_mapping(self.results.get("config"))


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
        return as_mapping(as_mapping(self.run.results.get("configs")).get(self.task))

    @property
    def version(self) -> Any:
        """The task's version; None without results."""
        return as_mapping(self.run.results.get("versions")).get(self.task)

    @property
    def num_fewshot(self) -> Any:
        """How many shots each prompt had; None without results."""
        return as_mapping(self.run.results.get("n-shot")).get(self.task)

    @property
    def scores(self) -> Mapping[str, Any]:
        """lm-eval's own numbers, keyed `METRIC,PIPELINE`; in a `--predict_only` run only `bypass`."""
        return as_mapping(as_mapping(self.run.results.get("results")).get(self.task))

    @property
    def size(self) -> int | None:
        """How many documents the task has; the log holds fewer after a `--limit`. None without results."""
        return self._count("original")

    @property
    def scored(self) -> int | None:
        """How many documents have a score by lm-eval's results: none where answers are closed. None without results."""
        return self._count("effective")

    def _count(self, name: str) -> int | None:
        count = as_mapping(as_mapping(self.run.results.get("n-samples")).get(self.task)).get(name)
        return count if isinstance(count, int) else None

    def samples(self, pipeline: str | None = None) -> Iterator[Sample]:
        """Read the log lazily, in its order.

        Args:
            pipeline: only the rows of this pipeline; default: all rows.

        Raises:
            RunError: a line is cut, is no JSON or is no sample; the message names file and line.
        """
        for sample in read_samples(self.file):
            if pipeline is None or sample.pipeline == pipeline:
                yield sample


def find_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the sample logs that `paths` name.

    Args:
        paths: lm-eval's output folder, a model's folder in it, sample logs, or results files (for all logs of the run).

    Returns:
        Every log once, sorted by model, task and date.

    Raises:
        RunError: a path does not exist, holds no sample log or is none, or a results file is broken.
    """
    return sorted(locate_logs(paths), key=lambda log: (log.run.model, log.task, log.run.date, str(log.file)))


def locate_logs(paths: Iterable[Path], name: str | None = None) -> list[TaskLog]:
    """Find the sample logs as `find_logs` does, without reading a results file, in the order of their places.

    Args:
        paths: as in `find_logs`.
        name: what the user calls the model of all of them.
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
    """The tasks whose sample logs lie beside each other after one call of lm-eval."""
    names = (SAMPLES_NAME.fullmatch(file.name) for file in sorted(run.folder.glob(f"samples_*_{run.date}.jsonl")))
    return [name["task"] for name in names if name]


def newest(logs: Iterable[TaskLog]) -> list[TaskLog]:
    """Keep the newest log of each model and task, in the order given."""
    latest: dict[tuple[str, str], TaskLog] = {}
    for log in sorted(logs, key=lambda log: (log.run.date, str(log.file))):
        latest[log.run.model, log.task] = log
    return sorted(latest.values(), key=lambda log: (log.run.model, log.task))


def is_ours(log: TaskLog) -> bool:
    """Whether a log is of a task of ours or of a user's own in our format, by its first sound line."""
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
    """The results file of the run; `results_` is another stem where `--output_path` named a file."""
    usual = folder / f"results_{date}.json"
    if usual.is_file():
        return usual
    others = [file for file in sorted(folder.glob(f"*_{date}.json")) if not file.name.startswith(OWN_PREFIXES)]
    return others[0] if others else None


def as_mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is a JSON object, else an empty one: what another program wrote may have any form."""
    return value if isinstance(value, Mapping) else {}
