"""From entries to a comparison: scores, paired differences, means over tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.chance import ChanceLevels
from mera_ru_tasks.compare.comparability import Pairing, pair
from mera_ru_tasks.compare.load import Entry, Measure
from mera_ru_tasks.compare.notes import Remark, remark
from mera_ru_tasks.compare.standards import differing_standards, judge_of, naming_the_judge
from mera_ru_tasks.compare.stats import Estimate, Paired
from mera_ru_tasks.data.benchmarks import LEADERBOARD
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT

MEAN = "mean"


@dataclass(frozen=True)
class Row:
    """One model's score in one metric, pipeline and task.

    Attributes:
        task: the task, or `MEAN` for the mean over tasks.
        metric: the metric.
        pipeline: its pipeline, or `judge NAME`.
        model: the model's label.
        score: the score.
        chance: the task's chance level; None where there is none.
        incomplete: which part of the documents the score is of; empty where of all.
        difference: how much higher it is than the baseline's; None for the baseline itself and where not compared.
        p_holm: the difference's p-value after Holm's correction over the models in this metric, pipeline and task.
        why_not: why there is no difference; empty where there is one or none could be expected.
        remarks: what the difference must be read with.
        judge: who gave the score, where that is a judge and known (see `judge.fingerprint.identity`).
    """

    task: str
    metric: str
    pipeline: str
    model: str
    score: Estimate
    chance: float | None
    incomplete: tuple[Remark, ...] = ()
    difference: Paired | None = None
    p_holm: float | None = None
    why_not: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    judge: Mapping[str, Any] | None = None


def sort_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Measures in the order in which they are shown: strict before flexible before judges."""
    pipelines = (STRICT, FLEXIBLE)
    return sorted(
        dict.fromkeys(measures),
        key=lambda measure: (
            list(METRICS).index(measure[0]),
            pipelines.index(measure[1]) if measure[1] in pipelines else len(pipelines),
            measure[1],
        ),
    )


def estimate(entry: Entry, values: Mapping[str, float]) -> Estimate:
    """Estimate the mean of an entry's values, clustered where its documents are."""
    keys = list(values)
    return stats.mean_estimate(np.array([values[key] for key in keys], float), _clusters(entry, keys))


def difference(entry: Entry, values: Mapping[str, float], baseline: Mapping[str, float]) -> Paired | None:
    """Estimate how much higher an entry's values are than others, over what both count; None where that is nothing."""
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
    """The rows of one task, measure by measure, the models in their order."""
    base = next((entry for entry in entries if entry.model == baseline), None)
    pairings = {
        entry.model: pair(entry, base, across_settings=across_settings)
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
                row = _compared(row, entry, base, pairings.get(entry.model), baseline)
            block.append(row)
        rows += _with_holm(block)
    return rows


def _incomplete(entry: Entry, scored: int) -> tuple[Remark, ...]:
    return (remark("incomplete", task=entry.task, scored=scored, all=entry.size),) if scored < entry.size else ()


def _compared(row: Row, entry: Entry, base: Entry | None, pairing: Pairing | None, baseline: str) -> Row:
    measure = (row.metric, row.pipeline)
    base_values = base.values(measure) if base else {}
    if base is None or pairing is None or not base_values:
        return replace(row, why_not=(remark("no_such_score", baseline=baseline),))
    standards = tuple(differing_standards(entry, base, measure))
    if not pairing.allows(standards):
        return replace(row, why_not=(*pairing.differences, *standards))
    found = difference(entry, entry.values(measure), base_values)
    if found is None:
        return replace(row, why_not=(remark("no_common_score", baseline=baseline),))
    notes = standards or tuple(naming_the_judge(entry, measure))
    part = _common_part(row, found.estimate.n, max(row.score.n, len(base_values)))
    return replace(row, difference=found, remarks=(*pairing.differences, *pairing.remarks, *notes, *part))


def _common_part(row: Row, common: int, most: int) -> tuple[Remark, ...]:
    """What a difference is over, where that is less than a score beside it is over."""
    unit = "common_groups" if METRICS[row.metric].grouped else "common_documents"
    return (remark(unit, task=row.task, n=common),) if common < most else ()


def _with_holm(block: Sequence[Row]) -> list[Row]:
    adjusted = iter(stats.holm([row.difference.p for row in block if row.difference]))
    return [replace(row, p_holm=next(adjusted)) if row.difference else row for row in block]


def mean_rows(rows: Sequence[Row], suite: Callable[[str], str | None]) -> list[Row]:
    """The unweighted means over the tasks of a suite, as the harness's groups give them, for models that ran all.

    Args:
        rows: the tasks' rows.
        suite: the suite a task belongs to; None for a task outside (the open riddles).
    """
    found: dict[tuple[str, str, str], dict[str, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        name = suite(row.task)
        if name is not None and row.metric in ("exact_match", "judge_score"):
            found[name, row.metric, row.pipeline][row.model][row.task] = row
    means: list[Row] = []
    for (name, metric, pipeline), models in found.items():
        block = []
        for model, tasks in models.items():
            parts = list(tasks.values())
            # Scores of several judges have no mean.
            if len(tasks) < len(LEADERBOARD) or any(row.judge != parts[0].judge for row in parts):
                continue
            score = stats.combine([row.score for row in parts], [1 / len(parts)] * len(parts))
            levels = [row.chance for row in parts if row.chance is not None]
            chance = sum(levels) / len(levels) if len(levels) == len(parts) else None
            row = Row(
                f"{MEAN} {name}".strip(), metric, pipeline, model, score, chance, _united(parts, "incomplete"),
                judge=parts[0].judge,
            )  # fmt: skip
            differences = [part.difference for part in parts if part.difference]
            if len(differences) == len(parts):
                mean = stats.mean_of_differences(differences)
                row = replace(row, difference=mean, remarks=_united(parts, "remarks"))
            else:
                row = replace(row, why_not=_united(parts, "why_not"))
            block.append(row)
        means += _with_holm(block)
    return means


def _united(rows: Sequence[Row], field: str) -> tuple[Remark, ...]:
    """The remarks of several rows in one field, once each."""
    return tuple(dict.fromkeys(one for row in rows for one in getattr(row, field)))
