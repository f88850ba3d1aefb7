"""Choosing what is compared: the newest log of each model and task, and what each model is called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.notes import note
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.logs.lmeval import TaskLog, differing, is_ours, locate_logs, newest, setting_of


@dataclass(frozen=True)
class Chosen:
    """The logs that are compared.

    Attributes:
        logs: in the order in which the models were named.
        labels: what each model is called in the comparison, by its name.
        choices: which logs were taken, one for each run.
        problems: what is wrong with what was found.
    """

    logs: Sequence[TaskLog]
    labels: Mapping[str, str]
    choices: Sequence[Issue]
    problems: Sequence[Issue]


def choose(paths: Sequence[Path], names: Mapping[Path, str]) -> Chosen:
    """Choose the newest log of each model and task.

    Args:
        paths: as in `runs.find_logs`.
        names: what the model of a path is called, in place of lm-eval's name for it.

    Raises:
        RunError: there is none, or a name is not of one model.
    """
    problems: list[Issue] = []
    found = _find(paths, names, problems)
    labels = _short_names([log.run.model for log in found])
    problems += [_without_results(log, labels[log.run.model]) for log in found if log.run.results_file is None]
    ours = [log for log in found if is_ours(log)]
    if others := sorted({log.task for log in found} - {log.task for log in ours}):
        problems.append(note("other-tasks", tasks=", ".join(others)))
    chosen = sorted(newest(ours), key=lambda log: list(labels).index(log.run.model))
    problems += _several_settings(ours, chosen, labels)
    return Chosen(chosen, labels, _choices(ours, chosen, labels), problems)


def _find(paths: Sequence[Path], names: Mapping[Path, str], problems: list[Issue]) -> list[TaskLog]:
    named = _named(paths, names)
    logs: dict[Path, TaskLog] = {}
    for path in paths:
        for found in locate_logs([path], names.get(path)):
            log = named.get(found.file.resolve(), found)
            try:
                log.run.results  # noqa: B018 (reading it is the check)
            except RunError as error:
                problems.append(note("broken-results", log.file.name, error=note("library-error", text=error)))
                continue
            logs.setdefault(log.file.resolve(), log)
    if not logs:
        raise RunError("\n".join(["No log is usable.", *map(str, problems)]))
    _refuse_taken(names, logs.values())
    return list(logs.values())


def _named(paths: Sequence[Path], names: Mapping[Path, str]) -> dict[Path, TaskLog]:
    """The logs whose model the user named, by their files; they go by it where another path holds them too."""
    logs: dict[Path, TaskLog] = {}
    for path in dict.fromkeys(path for path in paths if path in names):
        name = names[path]
        models = sorted({log.run.model for log in locate_logs([path])})
        if len(models) > 1:
            raise RunError(
                f"{name}={path} names runs of several models: {', '.join(models)}. Name a folder or log files of one."
            )
        for log in locate_logs([path], name):
            other = logs.setdefault(log.file.resolve(), log).run.name
            if other != name:
                raise RunError(f"{log.file} is named both {other!r} and {name!r}. Give it one name.")
    return logs


def _refuse_taken(names: Mapping[Path, str], logs: Iterable[TaskLog]) -> None:
    """Raise RunError where a name is another model's too, so that two models would be taken for one."""
    taken = [*names.values(), *{log.run.model for log in logs if log.run.name is None}]
    if twice := sorted({name for name in names.values() if taken.count(name) > 1}):
        raise RunError(f"{twice[0]!r} is the name of two models in these runs. Choose another.")


def _several_settings(ours: Sequence[TaskLog], chosen: Sequence[TaskLog], labels: Mapping[str, str]) -> Iterator[Issue]:
    """Say of which models there are runs under several settings, whose scores are not of one thing."""
    for model in dict.fromkeys(log.run.model for log in chosen):
        known = [log for log in ours if log.run.model == model and log.run.results_file is not None]
        taken = [log for log in known if log in chosen]
        for code, logs in (("mixed-settings", taken), ("other-settings", known)):
            if taken and (settings := _differing(logs)):
                yield note(code, labels[model], settings=", ".join(f"`{name}`" for name in settings))
                break


def _differing(logs: Sequence[TaskLog]) -> list[str]:
    """What differs between the settings of logs, by lm-eval's options."""
    first, *others = (_setting(log) for log in logs)
    return list(dict.fromkeys(name for setting in others for name in differing(setting, first)))


def _setting(log: TaskLog) -> dict[str, Any]:
    return {**setting_of(log.run), "--num_fewshot": log.num_fewshot}


def _without_results(log: TaskLog, model: str) -> Issue:
    return note("no-results", model, file=log.file.name, results=f"results_{log.run.date}.json")


def _short_names(models: Iterable[str]) -> dict[str, str]:
    """A label for each model, in the order met: of a local path as much of its end as tells it from the others.

    Never all of it: a label stands in reports, which name no folder of the machine.
    """
    names = list(dict.fromkeys(models))
    paths = {name: _as_path(name) for name in names}

    def label(name: str) -> str:
        parts = paths[name].split("/") if _is_local(paths[name]) else []
        for length in range(1, len(parts)):
            end = "/".join(parts[-length:])
            if sum(path == end or path.endswith(f"/{end}") for path in paths.values()) == 1:
                return end
        if not parts:
            return name
        alike = [path for path in paths.values() if path.endswith(f"/{parts[-1]}")]
        return f"{parts[-1]} ({alike.index(paths[name]) + 1})"

    return {name: label(name) for name in names}


def _as_path(name: str) -> str:
    """A model's name with the same slashes everywhere; lm-eval's folder of a local path has `__` in their place."""
    path = name.replace("\\", "/").rstrip("/")
    return path.replace("__", "/") if path.startswith("__") else path


def _is_local(path: str) -> bool:
    return path.startswith(("/", "./", "../", "~")) or path[1:3] == ":/"


def _choices(logs: Sequence[TaskLog], chosen: Sequence[TaskLog], labels: Mapping[str, str]) -> list[Issue]:
    """Which logs were taken of each run."""
    found = []
    for run in dict.fromkeys(log.run for log in chosen):
        tasks = [log.task for log in chosen if log.run == run]
        older = [log for log in logs if log not in chosen and log.run.model == run.model and log.task in tasks]
        left = note("older", files=", ".join(log.file.name for log in older)) if older else ""
        place = note("in-folder", folder=run.folder)
        found.append(note("run", labels[run.model], date=run.date, place=place, tasks=", ".join(tasks), left=left))
    return found
