"""Reading runs: each model's answers to each task, with what is wrong with them said and never counted as a score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.benchmarks import Benchmark, benchmark_of_task
from mera_ru_tasks.comparison.answers import Answer, Measure, read_answers
from mera_ru_tasks.comparison.rescored import add_rescored
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.runs import TaskLog, locate_logs, newest

PREFILLED = "prefilled"


@dataclass(frozen=True)
class Entry:
    """One model on one task.

    Attributes:
        model: its label in the comparison.
        task: the task's name there; without `prefill` where settings are compared across.
        log: where the answers are from.
        benchmark: the task's benchmark.
        answers: by lm-eval's hash of the document.
        whole: whether every document of the task was run and read.
    """

    model: str
    task: str
    log: TaskLog
    benchmark: Benchmark
    answers: Mapping[str, Answer]
    whole: bool

    @property
    def prefilled(self) -> bool:
        """Whether the prompts end in the marker."""
        return is_prefilled(self.log.task)

    @property
    def measures(self) -> dict[Measure, None]:
        """The metrics and pipelines that any answer has a score in."""
        return dict.fromkeys(measure for answer in self.answers.values() for measure in answer.scores)

    def values(self, measure: Measure) -> dict[str, float]:
        """The values of a measure by what it counts: documents, or groups all of whose documents are scored."""
        parts = {key: answer.scores[measure] for key, answer in self.answers.items() if measure in answer.scores}
        if not measure[0].startswith("group_"):
            return parts
        right: dict[str, list[int]] = {}
        sizes: dict[str, int] = {}
        for group, size, correct in parts.values():
            right.setdefault(f"group {group}", []).append(correct)
            sizes[f"group {group}"] = size
        return {group: float(all(marks)) for group, marks in right.items() if len(marks) >= sizes[group]}

    def cluster_of(self, key: str) -> Any:
        """The regionalism of a document; None where documents stand alone, and for a group, which is its own."""
        answer = self.answers.get(key)
        return answer.doc["meta"].get("group_id") if answer else None


@dataclass(frozen=True)
class Loaded:
    """What was found.

    Attributes:
        entries: in the order in which the models were named.
        choices: which logs were taken, a line each.
        problems: what is wrong with them, a line each.
    """

    entries: Sequence[Entry]
    choices: Sequence[str]
    problems: Sequence[str]


def is_prefilled(task: str) -> bool:
    """Whether a task's prompts end in the marker, by its name."""
    known = benchmark_of_task(task)
    return known is not None and "prefill" in known[1]


def load(paths: Sequence[Path], *, across_settings: bool = False) -> Loaded:
    """Read the newest log of each model and task.

    Args:
        paths: as in `runs.find_logs`.
        across_settings: whether a prefilled task counts as its plain one; its models are labelled `prefilled` then.

    Raises:
        RunError: nothing can be read.
    """
    problems: list[str] = []
    found = _find(paths, problems)
    ours = [log for log in found if benchmark_of_task(log.task)]
    if others := sorted({log.task for log in found} - {log.task for log in ours}):
        problems.append(f"Left out: {', '.join(others)}. Only tasks of this package are compared.")
    chosen = newest(ours)
    names = _short_names([log.run.model for log in ours])
    pool: dict[str, Any] = {}
    entries = [
        entry
        for log in sorted(chosen, key=lambda log: list(names).index(log.run.model))
        if (entry := _read(log, names[log.run.model], across_settings, pool, problems))
    ]
    if not entries:
        raise RunError("\n".join(["Nothing is left to compare.", *problems]))
    return Loaded(entries, _choices(ours, chosen, names), problems)


def _find(paths: Sequence[Path], problems: list[str]) -> list[TaskLog]:
    logs: dict[Path, TaskLog] = {}
    for path in paths:
        for log in locate_logs([path]):
            try:
                log.run.results  # noqa: B018 (reading it is the check)
            except RunError as error:
                problems.append(f"Left out: {log.file.name}. {error}")
                continue
            logs.setdefault(log.file.resolve(), log)
            if log.run.results_file is None:
                problems.append(
                    f"{log.file}: its results file, results_{log.run.date}.json, is not beside it, so the model's name "
                    "is its folder's, and version, shots and limit are unknown. Put the file back."
                )
    if not logs:
        raise RunError("\n".join(["No log is usable.", *problems]))
    return list(logs.values())


def _short_names(models: Iterable[str]) -> dict[str, str]:
    """A label for each model, in the order met: of a local path the last part, where no other model has the same."""
    names = list(dict.fromkeys(models))
    last = [name.replace("\\", "/").rstrip("/").rpartition("/")[2] for name in names]
    return {
        name: part if name.startswith(("/", "./", "../", "~")) and last.count(part) == 1 and part else name
        for name, part in zip(names, last, strict=True)
    }


def _read(log: TaskLog, model: str, across_settings: bool, pool: dict[str, Any], problems: list[str]) -> Entry | None:
    known = benchmark_of_task(log.task)
    assert known is not None, "only tasks of ours are read"
    benchmark, variants = known
    answers, faults = read_answers(log, pool)
    if faults:
        more = f" ({len(faults) - 1} more lines of this log are broken too.)" if len(faults) > 1 else ""
        kept = "the other lines are shown" if answers else "nothing of this log is left"
        problems.append(f"{faults[0]}{more} Without it, {kept}.")
    if not answers:
        return None
    problems += add_rescored(log, list(answers.values()))
    whole = not faults and not _incomplete(log, answers, problems)
    task = log.task
    if across_settings and "prefill" in variants:
        task, model = task.replace("_prefill", ""), f"{model} · {PREFILLED}"
    entry = Entry(model, task, log, benchmark, answers, whole)
    if not entry.measures:
        problems.append(_unscored(log, entry))
    return entry


def _incomplete(log: TaskLog, answers: Mapping[str, Answer], problems: list[str]) -> bool:
    if log.scored is not None and len(answers) < log.scored:
        problems.append(
            f"{log.file} holds {len(answers)} of the {log.scored} documents that were run: it is not whole. "
            "Copy the log again, or run again."
        )
    elif log.size is not None and len(answers) < log.size:
        problems.append(
            f"{log.task} of {log.run.model}: {len(answers)} of {log.size} documents were run (--limit or --samples)."
        )
    return log.size is not None and len(answers) < log.size


def _unscored(log: TaskLog, entry: Entry) -> str:
    if log.run.config.get("predict_only") or any("bypass" in name for name in log.scores):
        why = "the run was made with --predict_only"
    elif not any(str(answer.doc.get("outputs") or "").strip() for answer in entry.answers.values()):
        why = "its documents have no reference answer"
    else:
        why = "its lines hold none"
    return f"{log.file} has no scores: {why}. Its responses are shown. `mera-ru score` scores a log against answers."


def _choices(logs: Sequence[TaskLog], chosen: Sequence[TaskLog], names: Mapping[str, str]) -> list[str]:
    """Which log was taken for each model, a line for each run."""
    lines = []
    for run in dict.fromkeys(log.run for log in chosen):
        tasks = [log.task for log in chosen if log.run is run]
        older = [log for log in logs if log not in chosen and log.run.model == run.model and log.task in tasks]
        left = f"; older and left out: {', '.join(log.file.name for log in older)}" if older else ""
        lines.append(f"{names[run.model]}, run of {run.date} in {run.folder}: {', '.join(tasks)}{left}")
    return lines
