"""Select the logs to compare, choose model labels, and read published scores."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.notes import note
from mera_ru_tasks.compare.stats import Estimate, wilson
from mera_ru_tasks.issues import Issue, RunError
from mera_ru_tasks.logs.find import TaskLog, locate_logs, newest
from mera_ru_tasks.logs.reader import Measure, is_our_log
from mera_ru_tasks.logs.setting import differing, parse_arguments, setting_of, shots_of
from mera_ru_tasks.paths import averaged_groups, read_bounded
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, RANKING, STRICT
from mera_ru_tasks.secrets import as_path, is_local, public_name
from mera_ru_tasks.textutil import suggest


@dataclass(frozen=True)
class Chosen:
    """The logs selected for a comparison.

    Attributes:
        logs: the newest log of each model and task, with models in the order of the paths.
        labels: the models' labels in the comparison, by model name.
        pooled: the older logs that are pooled with the newest log, by model and task.
        choices: notes on the selected logs, one for each run.
        issues: notes on issues in the logs.
    """

    logs: Sequence[TaskLog]
    labels: Mapping[str, str]
    pooled: Mapping[tuple[str, str], Sequence[TaskLog]]
    choices: Sequence[Issue]
    issues: Sequence[Issue]


def choose(paths: Sequence[Path], names: Mapping[Path, str], *, pool_runs: bool = False) -> Chosen:
    """Select the newest log of each model and task, and the older logs to pool with it.

    Args:
        paths: see `logs.find.find_logs`.
        names: the model names to use instead of lm-eval's, by path.
        pool_runs: True to pool all runs with the same settings, False to pool only runs with different sampling seeds.

    Raises:
        RunError: there are no logs, or a name belongs to several models.
    """
    issues: list[Issue] = []
    found = _find(paths, names, issues)
    labels = _short_names([log.run.model for log in found])
    issues += [_without_results(log, labels[log.run.model]) for log in found if log.run.results_file is None]
    ours = [log for log in found if is_our_log(log)]
    if others := sorted({log.task for log in found} - {log.task for log in ours}):
        issues.append(note("other-tasks", tasks=", ".join(others)))
    chosen = sorted(newest(ours), key=lambda log: list(labels).index(log.run.model))
    pooled = {(log.run.model, log.task): _pooled(log, ours, all_runs=pool_runs) for log in chosen}
    taken = [*chosen, *(log for logs in pooled.values() for log in logs)]
    apart = [log for log in ours if log in chosen or log not in taken]
    issues += _several_settings(apart, chosen, labels)
    return Chosen(chosen, labels, pooled, _choices(ours, chosen, taken, labels), issues)


def _pooled(newest_log: TaskLog, logs: Sequence[TaskLog], *, all_runs: bool) -> list[TaskLog]:
    """Return the older logs to pool with the newest log. Without `all_runs`, their sampling seeds must differ."""
    run = newest_log.run
    same = [log for log in logs if log != newest_log and (log.run.model, log.task) == (run.model, newest_log.task)]
    if run.results_file is None or not same:
        return []
    seeds = [_seeds(newest_log)]
    found = []
    for log in sorted(same, key=lambda log: log.run.ended, reverse=True):
        if log.run.results_file is None or _whole_setting(log) != _whole_setting(newest_log):
            continue
        if all_runs or _seeds(log) not in seeds:
            seeds.append(_seeds(log))
            found.append(log)
    return found


def _whole_setting(log: TaskLog) -> dict[str, Any]:
    """Return the settings, without the seeds, that must agree for two runs to measure the same thing."""
    setting = {name: value for name, value in _setting(log).items() if name != "--model_args seed"}
    setting["--gen_kwargs"] = {name: value for name, value in _generation(log).items() if name != "seed"}
    return {**setting, "version": log.version, "limit": log.run.config.get("limit"), "shots": shots_of(log)}


def _seeds(log: TaskLog) -> tuple[Any, ...]:
    """Return the seeds that affect sampled responses."""
    config = [log.run.config.get(name) for name in ("random_seed", "numpy_seed", "torch_seed")]
    return (*config, setting_of(log.run).get("--model_args seed"), _generation(log).get("seed"))


def _generation(log: TaskLog) -> Mapping[str, Any]:
    return parse_arguments(log.run.config.get("gen_kwargs"))


def _find(paths: Sequence[Path], names: Mapping[Path, str], issues: list[Issue]) -> list[TaskLog]:
    named = _named(paths, names)
    logs: dict[Path, TaskLog] = {}
    for path in paths:
        for found in locate_logs([path], names.get(path)):
            log = named.get(found.file.resolve(), found)
            try:
                log.run.results  # noqa: B018 (reading it is the check)
            except RunError as error:
                issues.append(note("broken-results", log.file.name, error=note("library-error", text=error)))
                continue
            logs.setdefault(log.file.resolve(), log)
    if not logs:
        raise RunError("\n".join(["There are no usable logs.", *map(str, issues)]))
    _check_unique_names(names, logs.values())
    return list(logs.values())


def _named(paths: Sequence[Path], names: Mapping[Path, str]) -> dict[Path, TaskLog]:
    """Return the logs with a model name from the user, by file. The name applies even if another path has the log."""
    logs: dict[Path, TaskLog] = {}
    for path in dict.fromkeys(path for path in paths if path in names):
        name = names[path]
        models = sorted({log.run.model for log in locate_logs([path])})
        if len(models) > 1:
            raise RunError(
                f"{name}={path} matches runs of several models: {', '.join(models)}. Use a path with runs of one model."
            )
        for log in locate_logs([path], name):
            other = logs.setdefault(log.file.resolve(), log).run.name
            if other != name:
                raise RunError(
                    f"{log.file} has two model names, {other!r} and {name!r}. Pass it with only one of them."
                )
    return logs


def _check_unique_names(names: Mapping[Path, str], logs: Iterable[TaskLog]) -> None:
    """Raise RunError if two models have the same name, because their runs would be mixed up."""
    taken = [*names.values(), *{log.run.model for log in logs if log.run.name is None}]
    if twice := sorted({name for name in names.values() if taken.count(name) > 1}):
        raise RunError(f"Two models have the name {twice[0]!r}. Choose a different name for one of them.")


def _several_settings(ours: Sequence[TaskLog], chosen: Sequence[TaskLog], labels: Mapping[str, str]) -> Iterator[Issue]:
    """Warn about models for which the tasks of a mean, or the runs of a task, used different settings."""
    for model in dict.fromkeys(log.run.model for log in chosen):
        known = [log for log in ours if log.run.model == model and log.run.results_file is not None]
        taken = {log.task: log for log in known if log in chosen}
        means = [[taken[task] for task in tasks] for tasks in averaged_groups().values() if taken.keys() >= set(tasks)]
        runs = [[log for log in known if log.task == task] for task in taken]
        for code, parts in (("mixed-settings", means), ("other-settings", runs)):
            if settings := dict.fromkeys(name for logs in parts for name in _differing(logs)):
                yield note(code, labels[model], settings=", ".join(f"`{name}`" for name in settings))
                break


def _differing(logs: Sequence[TaskLog]) -> list[str]:
    """Return the lm-eval options whose values differ between the logs."""
    first, *others = (_setting(log) for log in logs)
    return list(dict.fromkeys(name for setting in others for name in differing(setting, first)))


def _setting(log: TaskLog) -> dict[str, Any]:
    return {**setting_of(log.run), "--num_fewshot": log.num_fewshot}


def _without_results(log: TaskLog, model: str) -> Issue:
    return note("no-results", model, file=log.file.name, results=log.run.results_name)


def _short_names(models: Iterable[str]) -> dict[str, str]:
    """Return a label for each model, in order.

    A local path is shortened to its shortest unique suffix. A label is never a complete path, because reports must not
    reveal folders on the user's machine.
    """
    names = list(dict.fromkeys(models))
    paths = {name: as_path(name) for name in names}

    def label(name: str) -> str:
        parts = paths[name].split("/") if is_local(paths[name]) else []
        for length in range(1, len(parts)):
            end = "/".join(parts[-length:])
            if sum(path == end or path.endswith(f"/{end}") for path in paths.values()) == 1:
                return end
        if not parts:
            return public_name(name)
        alike = [path for path in paths.values() if path.endswith(f"/{parts[-1]}")]
        return f"{parts[-1]} ({alike.index(paths[name]) + 1})"

    return {name: label(name) for name in names}


def _choices(
    logs: Sequence[TaskLog], chosen: Sequence[TaskLog], taken: Sequence[TaskLog], labels: Mapping[str, str]
) -> list[Issue]:
    """Return a note for each run with the logs selected from it."""
    found = []
    for run in dict.fromkeys(log.run for log in chosen):
        tasks = [log.task for log in chosen if log.run == run]
        others = [log for log in logs if log not in chosen and log.run.model == run.model and log.task in tasks]
        parts = []
        for code, older in (
            ("pooled", [log for log in others if log in taken]),
            ("older", [log for log in others if log not in taken]),
        ):
            parts.append(note(code, files=", ".join(log.file.name for log in older)) if older else "")
        pooled, left = parts
        location = note("in-folder", folder=run.folder)
        tasks_text = ", ".join(tasks)
        found.append(
            note("run", labels[run.model], date=run.date, folder=location, tasks=tasks_text, pooled=pooled, left=left)
        )
    return found


MARK = " (published)"

_REQUIRED = ("model", "task", "metric", "score", "n")


@dataclass(frozen=True)
class PublishedScore:
    """A published score.

    Attributes:
        model: the model's label, which ends with `MARK`.
        task: the task's name.
        measure: the metric and the filter.
        score: the score, from 0 to 1.
        n: the number of documents, or of groups for a group metric.
    """

    model: str
    task: str
    measure: Measure
    score: float
    n: int

    def estimate(self, effect: float) -> Estimate:
        """Return the score with its interval.

        Args:
            effect: the effective number of documents divided by the number of documents. 1 for independent documents.
        """
        effective = self.n * effect
        return Estimate(self.score, *wilson(self.score, effective), self.n, max(1, round(effective)), effective)


def read_published(files: Iterable[Path], tasks: Collection[str]) -> list[PublishedScore]:
    """Read published scores from CSV files.

    The columns are model, task, metric, score, n and, optionally, filter. The default filter is the metric's first
    filter, such as strict-match. Only the score and the number of documents are known, so the comparison is unpaired
    and uses Newcombe's interval. It has less power than a paired comparison of two runs.

    Args:
        files: the CSV files.
        tasks: the tasks of the runs. Any other task in a file is an error.

    Raises:
        RunError: a file cannot be read, or a row is invalid.
    """
    found: dict[tuple[str, str, Measure], PublishedScore] = {}
    for file in files:
        for location, row in _rows(file):
            one = _score(location, row, tasks)
            if found.setdefault((one.model, one.task, one.measure), one) is not one:
                raise RunError(f"{location}: {row['model']} already has a score for {row['metric']} in {row['task']}.")
    return list(found.values())


def _rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        text = read_bounded(file).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"Cannot read {file}: {error}. Save it as a CSV file in UTF-8.") from error
    reader = csv.DictReader(text.splitlines())
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    if missing := [name for name in _REQUIRED if name not in names]:
        raise RunError(f"{file}: the column {missing[0]} is missing. Required columns: {', '.join(_REQUIRED)}.")
    for row in reader:
        cells = dict(zip(names, (row.get(name) for name in reader.fieldnames or ()), strict=True))
        yield f"{file}, line {reader.line_num}", {name: (value or "").strip() for name, value in cells.items()}


def _score(location: str, row: dict[str, str], tasks: Collection[str]) -> PublishedScore:
    model, task, metric = row["model"], row["task"], row["metric"]
    if not model:
        raise RunError(f"{location}: the column model is empty.")
    if task not in tasks:
        raise RunError(f"{location}: there are no runs of the task {task!r}. {suggest(task, tasks)}")
    usable = [name for name, one in METRICS.items() if one.bounded]
    if metric not in usable:
        raise RunError(f"{location}: scores of the metric {metric!r} cannot be compared. {suggest(metric, usable)}")
    default = RANKING if METRICS[metric].filters == (RANKING,) else METRICS[metric].filters[0]
    filter_name = row.get("filter") or default
    if filter_name not in METRICS[metric].filters:
        filters = suggest(filter_name, (STRICT, FLEXIBLE))
        raise RunError(f"{location}: {metric} has no filter {filter_name!r}. {filters}")
    try:
        score, n = float(row["score"].replace(",", ".")), int(row["n"])
    except ValueError as error:
        raise RunError(f"{location}: score and n must be numbers, such as 0.61 and 500 ({error}).") from error
    if not 0 <= score <= 1:
        raise RunError(f"{location}: the score {score:g} is not between 0 and 1. Divide percentages by 100.")
    if n < 1:
        raise RunError(f"{location}: n must be at least 1. It is the number of scored documents.")
    return PublishedScore(model + MARK, task, (metric, filter_name), score, n)
