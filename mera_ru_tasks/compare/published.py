"""Read published scores, such as rows of a leaderboard, to compare runs with them.

Only the score and the number of documents are known, so a published score is compared as an unpaired one, by Newcombe's
interval. Such comparisons see less than those of two runs.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.compare.stats import Estimate, wilson
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.logs.reader import Measure
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, RANKING, STRICT
from mera_ru_tasks.textutil import suggest

MARK = " (published)"

_REQUIRED = ("model", "task", "metric", "score", "n")


@dataclass(frozen=True)
class PublishedScore:
    """A score that someone published.

    Attributes:
        model: the model's label, with `MARK` at its end.
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
            effect: the effective number of documents for each document (1 for independent ones).
        """
        effective = self.n * effect
        return Estimate(self.score, *wilson(self.score, effective), self.n, max(1, round(effective)), effective)


def read_published(files: Iterable[Path], tasks: Collection[str]) -> list[PublishedScore]:
    """Read CSV files with the columns model, task, metric, score and n, and perhaps filter (default: strict-match).

    Args:
        files: the files.
        tasks: the tasks of the runs; another task in a file is a mistake.

    Raises:
        RunError: a file cannot be read, or a row cannot be used.
    """
    found: dict[tuple[str, str, Measure], PublishedScore] = {}
    for file in files:
        for location, row in _rows(file):
            one = _score(location, row, tasks)
            if found.setdefault((one.model, one.task, one.measure), one) is not one:
                raise RunError(f"{location}: a second score of {row['model']} in {row['metric']} of {row['task']}.")
    return list(found.values())


def _rows(file: Path) -> Iterator[tuple[str, dict[str, str]]]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RunError(f"Cannot read {file}: {error}. Save it as a CSV file in UTF-8.") from error
    reader = csv.DictReader(text.splitlines())
    names = [name.strip().lower() for name in reader.fieldnames or ()]
    if missing := [name for name in _REQUIRED if name not in names]:
        raise RunError(f"{file}: the column {missing[0]} is missing. It needs: {', '.join(_REQUIRED)}.")
    for row in reader:
        cells = dict(zip(names, (row.get(name) for name in reader.fieldnames or ()), strict=True))
        yield f"{file}, line {reader.line_num}", {name: (value or "").strip() for name, value in cells.items()}


def _score(location: str, row: dict[str, str], tasks: Collection[str]) -> PublishedScore:
    model, task, metric = row["model"], row["task"], row["metric"]
    if not model:
        raise RunError(f"{location}: the model has no name.")
    if task not in tasks:
        raise RunError(f"{location}: no run is of the task {task!r}. {suggest(task, tasks)}")
    usable = [name for name, one in METRICS.items() if one.bounded]
    if metric not in usable:
        raise RunError(f"{location}: {metric!r} is not a metric that can be compared. {suggest(metric, usable)}")
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
        raise RunError(f"{location}: n must be at least 1, the number of documents behind the score.")
    return PublishedScore(model + MARK, task, (metric, filter_name), score, n)
