"""Find and parse the logs that lm-eval writes with `--log_samples --output_path DIR`.

One run of lm-eval (a `Run`) writes `DIR/MODEL/results_DATE.json`. For each task, it also writes a sample log (a
`TaskLog`), `DIR/MODEL/samples_TASK_DATE.jsonl`, with one line for each document and filter (see reader.py). If
`--output_path` ends in `.json`, lm-eval writes the logs to that file's folder and creates no folder for the model.
lm-eval's `EvaluationTracker` defines these names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

from mera_ru_tasks.issues import RunError
from mera_ru_tasks.paths import read_bounded
from mera_ru_tasks.textutil import plural, read_json

# Old releases of lm-eval write the time with colons.
_DATE = r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d(?:\.\d+)?"
SAMPLES_NAME = re.compile(rf"samples_(?P<task>.+)_(?P<date>{_DATE})\.jsonl", re.DOTALL)
# The names of logs that a browser, a chat or an archive program has renamed.
_RENAMED = re.compile(rf"(?:samples|results)_.*{_DATE}.*\.jsonl?(?:\.\w+)*(?: \(\d+\))?(?:\.\w+)?", re.DOTALL)
_RESULTS_NAME = re.compile(rf"(?P<stem>.+)_(?P<date>{_DATE})\.json", re.DOTALL)

# Prefixes of the files that this package writes next to lm-eval's logs. These files are never read as logs.
OWN_PREFIXES = ("judged_", "scored_")

# The maximum length of a model's name, which appears in every table and note.
_LONGEST_NAME = 500

# The depth of the search for sample logs below the given folder. Many users have `results/EXPERIMENT/MODEL`.
_LEVELS = 2


@dataclass(frozen=True)
class Run:
    """One run of lm-eval.

    Attributes:
        folder: the folder that contains the run's files.
        date: the time at which the run ended, as in the file names (see `ended`).
        results_file: lm-eval's results file, or None if it is not in the same folder as the sample logs.
        name: the user's name for the model, or None to use lm-eval's name.
    """

    folder: Path
    date: str
    results_file: Path | None
    name: str | None = None

    @cached_property
    def results(self) -> Mapping[str, Any]:
        """The content of the results file, or an empty mapping without one. Raises RunError for an invalid file."""
        if self.results_file is None:
            return {}
        hint = "Rerun the evaluation, or delete the file to continue without the run's settings."
        try:
            content = read_json(read_bounded(self.results_file))
        except OSError as error:
            raise RunError(f"{self.results_file} cannot be read: {error.strerror}. {hint}") from error
        except ValueError as error:
            raise RunError(f"{self.results_file} is not valid JSON ({error}); it may be truncated. {hint}") from error
        if not isinstance(content, Mapping):
            raise RunError(f"{self.results_file} does not contain a JSON object. {hint}")
        name = content.get("model_name")
        if isinstance(name, str) and len(name) > _LONGEST_NAME:
            raise RunError(f"{self.results_file} names a model with {len(name):,} characters. {hint}")
        return content

    @property
    def results_name(self) -> str:
        """The usual name of the results file."""
        return f"results_{self.date}.json"

    @property
    def ended(self) -> str:
        """The date in a format that sorts by time, whichever release of lm-eval wrote the file."""
        return self.date.replace(":", "-")

    @property
    def model(self) -> str:
        """The model's name: the user's, or else lm-eval's, or else the folder's (with `__` instead of `/`)."""
        if self.name is not None:
            return self.name
        name = self.results.get("model_name")
        return name if isinstance(name, str) and name else self.folder.resolve().name

    @property
    def tasks(self) -> Mapping[str, Any]:
        """The scores of each task in the results file."""
        return as_mapping(self.results.get("results"))

    @property
    def config(self) -> Mapping[str, Any]:
        """The arguments of the run, such as `model`, `model_args`, `limit`, `gen_kwargs` and the seeds."""
        return as_mapping(self.results.get("config"))


@dataclass(frozen=True)
class TaskLog:
    """The sample log of one task of a run.

    Attributes:
        run: the run that wrote the log.
        task: the task's name.
        file: the sample log.
    """

    run: Run
    task: str
    file: Path

    @property
    def config(self) -> Mapping[str, Any]:
        """The task's configuration (`generation_kwargs`, `metadata`, …), or an empty mapping without a results file."""
        return as_mapping(as_mapping(self.run.results.get("configs")).get(self.task))

    @property
    def version(self) -> Any:
        """The task's version, or None without a results file."""
        return as_mapping(self.run.results.get("versions")).get(self.task)

    @property
    def num_fewshot(self) -> Any:
        """The number of shots in each prompt, or None without a results file."""
        return as_mapping(self.run.results.get("n-shot")).get(self.task)

    @property
    def scores(self) -> Mapping[str, Any]:
        """lm-eval's scores by `METRIC,FILTER`. A `--predict_only` run has only `bypass`."""
        return as_mapping(self.run.tasks.get(self.task))

    @property
    def hash(self) -> str | None:
        """lm-eval's hash of the documents, prompts and references in log order, or None without a results file."""
        value = as_mapping(self.run.results.get("task_hashes")).get(self.task)
        return value if isinstance(value, str) else None

    @property
    def size(self) -> int | None:
        """The number of documents in the task, including those that `--limit` skipped; None without a results file."""
        return self._count("original")

    @property
    def scored(self) -> int | None:
        """The number of documents that lm-eval scored (0 without public answers), or None without a results file."""
        return self._count("effective")

    def _count(self, name: str) -> int | None:
        count = as_mapping(as_mapping(self.run.results.get("n-samples")).get(self.task)).get(name)
        return count if isinstance(count, int) else None


def find_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the sample logs under `paths`.

    Args:
        paths: lm-eval's output folders, models' folders, sample logs or results files. A results file selects all logs
            of its run.

    Returns:
        The logs without duplicates, sorted by model, task and date.

    Raises:
        RunError: a path does not exist, is not a log or contains no logs, or a results file is invalid.
    """
    return sorted(locate_logs(paths), key=lambda log: (log.run.model, log.task, log.run.ended, str(log.file)))


def locate_logs(paths: Iterable[Path], name: str | None = None) -> list[TaskLog]:
    """Find the sample logs under `paths` without reading results files, and sort the logs by path.

    Args:
        paths: see `find_logs`.
        name: the user's name for the model of all these logs, or None to use lm-eval's name.
    """
    files = {file.resolve(): file for path in paths for file in _sample_files(path)}
    runs: dict[tuple[Path, str], Run] = {}
    logs = []
    for file in files.values():
        parts = SAMPLES_NAME.fullmatch(file.name)
        assert parts is not None, "only files named like sample logs were found"
        date = parts["date"]
        key = (file.parent.resolve(), date)
        run = runs.setdefault(key, Run(file.parent, date, _results_file(file.parent, date), name))
        logs.append(TaskLog(run, parts["task"], file))
    return sorted(logs, key=lambda log: str(log.file))


def tasks_of_run(run: Run) -> list[str]:
    """Return the names of the tasks for which a run wrote sample logs."""
    names = (SAMPLES_NAME.fullmatch(file.name) for file in sorted(run.folder.glob(f"samples_*_{run.date}.jsonl")))
    return [name["task"] for name in names if name]


def newest(logs: Iterable[TaskLog]) -> list[TaskLog]:
    """Keep the newest log of each model and task, sorted by model and task."""
    latest: dict[tuple[str, str], TaskLog] = {}
    for log in sorted(logs, key=lambda log: (log.run.ended, str(log.file))):
        latest[log.run.model, log.task] = log
    return sorted(latest.values(), key=lambda log: (log.run.model, log.task))


def _sample_files(path: Path) -> list[Path]:
    if path.is_dir():
        patterns = ["*/" * level + "samples_*.jsonl" for level in range(_LEVELS + 1)]
        found = [file for pattern in patterns for file in sorted(path.glob(pattern))]
        return [file for file in found if SAMPLES_NAME.fullmatch(file.name) and file.is_file()] or _raise_no_logs(path)
    if not path.exists():
        raise RunError(f"{path} does not exist. Pass the folder given to lm-eval as --output_path, or files in it.")
    if SAMPLES_NAME.fullmatch(path.name):
        return [path]
    results = _RESULTS_NAME.fullmatch(path.name)
    if _RENAMED.fullmatch(path.name) and not results:
        raise RunError(_renamed(path))
    if not results or path.name.startswith(OWN_PREFIXES):
        raise RunError(
            f"{path} does not have the name of an lm-eval log. Pass a sample log (samples_TASK_DATE.jsonl), a results "
            "file (results_DATE.json) or the folder that contains them, and keep the names that lm-eval gave them."
        )
    beside = sorted(path.parent.glob("samples_*.jsonl"))
    named = [(file, SAMPLES_NAME.fullmatch(file.name)) for file in beside]
    return [file for file, name in named if name and name["date"] == results["date"]] or _raise_no_logs(path)


def _renamed(file: Path) -> str:
    """Return a hint on how to fix a log whose name was changed."""
    if file.name.endswith((".gz", ".zip", ".bz2", ".xz", ".zst", ".7z")):
        return f"{file} is compressed. Decompress it to a file that ends in .jsonl or .json."
    return f"{file} looks like a renamed lm-eval log. Rename it back to samples_TASK_DATE.jsonl or results_DATE.json."


def _raise_no_logs(path: Path) -> NoReturn:
    """Raise RunError with the contents of the folder and a hint."""
    folder = path if path.is_dir() else path.parent
    patterns = ["*/" * level + "samples_*" for level in range(_LEVELS + 1)] if path.is_dir() else ["samples_*"]
    renamed = [file for pattern in patterns for file in sorted(folder.glob(pattern)) if _RENAMED.fullmatch(file.name)]
    others = [file for file in renamed if not SAMPLES_NAME.fullmatch(file.name)]
    if others:
        rest = len(others) - 1
        more = f" ({rest} more {plural(rest, 'file needs', 'files need')} the same change.)" if rest else ""
        raise RunError(f"{_renamed(others[0])}{more}")
    names = sorted(entry.name for entry in folder.iterdir())
    holds = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "") if names else "nothing"
    where = f"in {folder} or up to two levels below it" if path.is_dir() else f"next to {path}"
    ran = not path.is_dir() or any(path.glob("results_*.json")) or any(path.glob("*/results_*.json"))
    why = (
        "lm-eval ran without --log_samples, so it did not save the responses. Rerun the evaluation with"
        if ran
        else "Pass the folder given to lm-eval as --output_path, or run lm-eval with"
    )
    raise RunError(
        f"There is no lm-eval sample log (samples_TASK_DATE.jsonl) {where}. {folder} contains {holds}. "
        f"{why} `--log_samples --output_path DIR`."
    )


def _results_file(folder: Path, date: str) -> Path | None:
    """Return a run's results file. If `--output_path` was a file, its name replaces the prefix `results_`."""
    usual = folder / f"results_{date}.json"
    if usual.is_file():
        return usual
    others = [
        file
        for file in sorted(folder.glob(f"*_{date}.json"))
        if not file.name.startswith(OWN_PREFIXES) and file.is_file()
    ]
    return others[0] if others else None


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, or else an empty mapping.

    Files of other programs may contain any type of value.
    """
    return value if isinstance(value, Mapping) else {}
