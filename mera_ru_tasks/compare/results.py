"""From entries to rows: scores, paired differences, means over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.chance import ChanceLevels
from mera_ru_tasks.compare.comparability import (
    Comparability,
    comparability,
    judge_notes,
    judge_of,
    measure_differences,
)
from mera_ru_tasks.compare.load import Entry, Measure
from mera_ru_tasks.compare.notes import note
from mera_ru_tasks.compare.stats import Estimate, Paired
from mera_ru_tasks.data.benchmarks import LEADERBOARD
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT

MEAN = "mean"


@dataclass(frozen=True)
class Row:
    """One model's score in one metric, filter and task.

    Attributes:
        task: the task, or `MEAN` for the mean over tasks.
        metric: the metric.
        filter: its filter, or `judge NAME`.
        model: the model's label.
        score: the score.
        chance: the chance level; None if there is none.
        incomplete: notes on the part of the documents that is scored; empty if all are.
        difference: the score minus the baseline's; None for the baseline itself and if they are not compared.
        p_holm: the difference's p-value after Holm's correction over the models in this metric, filter and task.
        why_not: why there is no difference; empty if there is one, or none is expected.
        notes: what a reader of the difference must know.
        judge: the judge that gave the score, if it is one and known (see `judge.fingerprint.identity`).
    """

    task: str
    metric: str
    filter: str
    model: str
    score: Estimate
    chance: float | None
    incomplete: tuple[Issue, ...] = ()
    difference: Paired | None = None
    p_holm: float | None = None
    why_not: tuple[Issue, ...] = ()
    notes: tuple[Issue, ...] = ()
    judge: Mapping[str, Any] | None = None


def sort_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures in display order: strict before flexible before judges."""
    filters = (STRICT, FLEXIBLE)
    return sorted(
        dict.fromkeys(measures),
        key=lambda measure: (
            list(METRICS).index(measure[0]),
            filters.index(measure[1]) if measure[1] in filters else len(filters),
            measure[1],
        ),
    )


def estimate(entry: Entry, values: Mapping[str, float]) -> Estimate:
    """Estimate the mean of an entry's values, in clusters if its documents form some."""
    keys = list(values)
    return stats.mean_estimate(np.array([values[key] for key in keys], float), _clusters(entry, keys))


def difference(entry: Entry, values: Mapping[str, float], baseline: Mapping[str, float]) -> Paired | None:
    """Estimate the mean of `values` minus `baseline` over their common keys; None if they have none."""
    keys = [key for key in values if key in baseline]
    if not keys:
        return None
    return stats.paired_difference(
        np.array([values[key] for key in keys], float),
        np.array([baseline[key] for key in keys], float),
        _clusters(entry, keys),
    )


def _clusters(entry: Entry, keys: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    found = [entry.clusters.get(key) for key in keys]
    return np.array(found) if found and None not in found else None


def task_rows(
    task: str, entries: Sequence[Entry], baseline: str | None, levels: ChanceLevels, *, across_settings: bool
) -> list[Row]:
    """Return the rows of one task, measure by measure, with the models in their order."""
    base = next((entry for entry in entries if entry.model == baseline), None)
    comparable = {
        entry.model: comparability(entry, base, across_settings=across_settings)
        for entry in entries
        if base and entry is not base
    }
    measures = sort_measures([measure for entry in entries for measure in entry.measures])
    rows: list[Row] = []
    for measure in measures:
        block = []
        for entry in entries:
            values = entry.values(measure)
            if not values:
                continue
            scored = entry.counted(measure)
            level = levels.of(measure[0], scored)
            row = Row(
                task, *measure, entry.model, estimate(entry, values), level, _incomplete(entry, len(scored)),
                judge=judge_of(entry, measure),
            )  # fmt: skip
            if baseline and entry is not base:
                row = _compared(row, entry, base, comparable.get(entry.model), baseline)
            block.append(row)
        rows += _with_holm(block)
    return rows


def _incomplete(entry: Entry, scored: int) -> tuple[Issue, ...]:
    return (note("incomplete", task=entry.task, scored=scored, all=entry.size),) if scored < entry.size else ()


def _compared(row: Row, entry: Entry, base: Entry | None, found: Comparability | None, baseline: str) -> Row:
    measure = (row.metric, row.filter)
    base_values = base.values(measure) if base else {}
    if base is None or found is None or not base_values:
        return replace(row, why_not=(note("no-such-score", baseline=baseline),))
    differing = tuple(measure_differences(entry, base, measure))
    if not found.allows(differing):
        return replace(row, why_not=(*found.differences, *differing))
    paired = difference(entry, entry.values(measure), base_values)
    if paired is None:
        return replace(row, why_not=(note("no-common-score", baseline=baseline),))
    about_measure = differing or tuple(judge_notes(entry, measure))
    part = _common_part(row, paired.estimate.n, max(row.score.n, len(base_values)))
    return replace(row, difference=paired, notes=(*found.differences, *found.notes, *about_measure, *part))


def _common_part(row: Row, common: int, most: int) -> tuple[Issue, ...]:
    """Return a note if a difference covers fewer documents or groups than the scores next to it."""
    unit = "common-groups" if METRICS[row.metric].grouped else "common-documents"
    return (note(unit, task=row.task, n=common),) if common < most else ()


def _with_holm(block: Sequence[Row]) -> list[Row]:
    adjusted = iter(stats.holm([row.difference.p for row in block if row.difference]))
    return [replace(row, p_holm=next(adjusted)) if row.difference else row for row in block]


def mean_rows(rows: Sequence[Row], suite: Callable[[str], str | None]) -> list[Row]:
    """Return the unweighted means over the tasks of a suite, as lm-eval's groups give them, for models that ran all.

    Args:
        rows: the tasks' rows.
        suite: returns the suite of a task; None for a task outside, such as the open riddles.
    """
    found: dict[tuple[str, str, str], dict[str, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        name = suite(row.task)
        if name is not None and row.metric in ("exact_match", "judge_score"):
            found[name, row.metric, row.filter][row.model][row.task] = row
    means: list[Row] = []
    for (name, metric, filter), models in found.items():
        block = []
        for model, tasks in models.items():
            parts = list(tasks.values())
            # Scores of different judges have no common mean.
            if len(tasks) < len(LEADERBOARD) or any(row.judge != parts[0].judge for row in parts):
                continue
            score = stats.combine([row.score for row in parts], [1 / len(parts)] * len(parts))
            levels = [row.chance for row in parts if row.chance is not None]
            chance = sum(levels) / len(levels) if len(levels) == len(parts) else None
            row = Row(
                f"{MEAN} {name}".strip(), metric, filter, model, score, chance, _united(parts, "incomplete"),
                judge=parts[0].judge,
            )  # fmt: skip
            differences = [part.difference for part in parts if part.difference]
            if len(differences) == len(parts):
                mean = stats.mean_of_differences(differences)
                row = replace(row, difference=mean, notes=_united(parts, "notes"))
            else:
                row = replace(row, why_not=_united(parts, "why_not"))
            block.append(row)
        means += _with_holm(block)
    return means


def _united(rows: Sequence[Row], field: str) -> tuple[Issue, ...]:
    """Return the notes of several rows in one field without repetition."""
    return tuple(dict.fromkeys(one for row in rows for one in getattr(row, field)))
