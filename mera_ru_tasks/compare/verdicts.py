"""Create verdicts on pairs of models: which model is better, and which models are not significantly different.

A verdict is a note (see notes.py). The terminal and the report format the same notes with `notes.sentence`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.notes import Number, note
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.paths import averaged_groups
from mera_ru_tasks.scoring.metrics import METRICS, RANKING

if TYPE_CHECKING:
    from mera_ru_tasks.compare.results import Family, Pair, Row

BETTER = "better"
NOT_CORRECTED = "not-after-correction"
NOT_TOLD_APART = "not-told-apart"
EQUAL = "equal"
BETTER_BUT_EQUAL = "better-but-equal"
TOO_FEW = "too-few"
NOT_COMPARED = "not-compared"
CODES = (BETTER, NOT_CORRECTED, NOT_TOLD_APART, EQUAL, BETTER_BUT_EQUAL, TOO_FEW, NOT_COMPARED)

# Up to this number of models, every pair gets a sentence. With more models, only pairs with the best model get one.
_EVERY_PAIR = 4


@dataclass(frozen=True)
class Verdict:
    """The verdicts for one primary measure.

    Attributes:
        task: the task, or the name of a mean over tasks.
        metric: the metric.
        filter: the filter.
        measure: the name of the measure, as a fragment.
        sentences: the verdicts on pairs of models, and notes on models without this mean or not above the chance level.
    """

    task: str
    metric: str
    filter: str
    measure: Issue
    sentences: Sequence[Issue]


def verdict(pair: Pair, margin: float | None = None) -> Issue:
    """Return the verdict on a pair of models.

    Args:
        pair: the pair, with its corrected p-value.
        margin: the equivalence margin, or None for no margin.
    """
    found = pair.difference
    if found is None:
        return note(NOT_COMPARED, model=pair.model, other=pair.other, reasons=pair.why_not)
    low, high = found.estimate.low, found.estimate.high
    if found.p is None or pair.p_holm is None or low is None or high is None:
        return note(
            TOO_FEW,
            model=pair.model,
            other=pair.other,
            won=found.won or 0,
            lost=found.lost or 0,
            clusters=found.estimate.clusters,
            fewest=stats.FEWEST_CLUSTERS,
        )
    sign = 1 if METRICS[pair.metric].higher_is_better else -1
    ahead = found.estimate.value * sign >= 0
    model, other = (pair.model, pair.other) if ahead else (pair.other, pair.model)
    if found.estimate.value < 0:
        low, high = -high, -low
    size, *ends = amounts(pair.metric, abs(found.estimate.value), low, high)
    values: dict[str, Any] = {
        "model": model,
        "other": other,
        "size": _with_unit(pair.metric, size),
        "interval": Number(f"[{ends[0]}, {ends[1]}]"),
        "p": Number(short_p(found.p)),
        "p_holm": Number(short_p(pair.p_holm)),
        "k": pair.family,
        "seen": _with_unit(pair.metric, *amounts(pair.metric, found.detectable)),
    }
    within = margin is not None and max(abs(low), abs(high)) < margin
    if margin is not None:
        values["margin"] = _with_unit(pair.metric, f"{margin * (100 if METRICS[pair.metric].bounded else 1):g}")
    if pair.p_holm < stats.ALPHA:
        return note(BETTER_BUT_EQUAL if within else BETTER, **values)
    if within:
        return note(EQUAL, **values)
    return note(NOT_CORRECTED if found.p < stats.ALPHA else NOT_TOLD_APART, **values)


def amounts(metric: str, *values: float) -> list[str]:
    """Format differences in points (hundredths of a score) or in the metric's unit.

    All differences get the same number of decimal places, enough that none of at least 0.001 is shown as 0.
    """
    scale, decimals = (100, 0) if METRICS[metric].bounded else (1, 2)
    scaled = [scale * value for value in values]
    while decimals < 3 and any(abs(value) > 1e-9 and float(f"{value:.{decimals}f}") == 0 for value in scaled):
        decimals += 1
    return [f"{value:.{decimals}f}".replace("-", "−") for value in scaled]


def _with_unit(metric: str, number: str) -> Issue:
    if not METRICS[metric].bounded:
        return note("bits", n=Number(number))
    return note("point" if number == "1" else "points", n=Number(number))


def p_value(value: float | None) -> str:
    """Format a p-value for a table with three decimal places. Never round it to 0.05."""
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.3f}" if abs(value - stats.ALPHA) > 0.0005 else f"{value:.5f}"


def short_p(p: float) -> str:
    """Format the rest of `p = 0.31` or `p < 0.001` for a sentence, which needs fewer decimal places."""
    text = f"{p:.2f}" if p >= 0.1 else p_value(p)
    return f"= {text}" if text[0] != "<" else f"< {text[1:]}"


def summarize(
    rows: Sequence[Row], pairs: Sequence[Pair], measures: Sequence[tuple[str, str, str]], family: Family
) -> list[Verdict]:
    """Return the verdicts for the primary measures.

    Args:
        rows: the scores of tasks and means.
        pairs: the pairs of models for each measure of the rows.
        measures: the primary measures, as (task, metric, filter).
        family: the pairs of models to compare.
    """
    found = []
    for measure in measures:
        own = [row for row in rows if (row.task, row.metric, row.filter) == measure]
        compared = [pair for pair in pairs if (pair.task, pair.metric, pair.filter) == measure]
        sentences = [*_on_pairs(own, compared, family), *_on_missing(measure, rows), *_on_chance(own)]
        if sentences:
            found.append(Verdict(*measure, measure_name(*measure), sentences))
    return found


def mean_of(group: str) -> str:
    """Return the name of the mean over a group of tasks, such as `mean sample` for `mera_ru_sample`."""
    return f"mean {group.removeprefix('mera_ru').lstrip('_')}".strip()


def variant_of_mean(task: str) -> str | None:
    """Return the task variant of a mean (empty for the plain tasks), or None if `task` is not a mean."""
    return task.removeprefix("mean").strip() if task in map(mean_of, averaged_groups()) else None


def measure_name(task: str, metric: str, filter_name: str) -> Issue:
    """Return the name of a measure, as a fragment."""
    variant, column = variant_of_mean(task), column_name(metric, filter_name)
    if variant is not None:
        return note("measure-mean-of" if variant else "measure-mean", column=column, variant=variant)
    return note("measure", task=task, column=column)


def column_name(metric: str, filter_name: str) -> Issue:
    """Return the name of a metric and of its filter, as a fragment. Ranking tasks have no filter."""
    return note("metric" if filter_name == RANKING else "metric-of-filter", metric=metric, filter=filter_name)


def _on_pairs(rows: Sequence[Row], pairs: Sequence[Pair], family: Family) -> Iterator[Issue]:
    sign = -1 if METRICS[rows[0].metric].higher_is_better else 1
    rank = {row.model: index for index, row in enumerate(sorted(rows, key=lambda row: sign * row.score.value))}
    shown = sorted(pairs, key=lambda pair: sorted(rank.get(model, len(rank)) for model in (pair.model, pair.other)))
    if family.baseline is None and len(rows) > _EVERY_PAIR:
        shown = [pair for pair in shown if 0 in (rank.get(pair.model), rank.get(pair.other))]
    yield from (pair.verdict for pair in shown if pair.verdict)
    if len(shown) < len(pairs):
        yield note("see-groups", k=len(pairs))


def _on_missing(measure: tuple[str, str, str], rows: Sequence[Row]) -> Iterator[Issue]:
    """Yield notes on the models that have no mean, with the tasks that they lack. Single tasks have no such notes."""
    name, *of = measure
    tasks = next((tasks for group, tasks in averaged_groups().items() if mean_of(group) == name), ())
    scored = {(row.model, row.task) for row in rows if [row.metric, row.filter] == of}
    lacking: dict[str, list[str]] = {}
    for model in dict.fromkeys(row.model for row in rows):
        if missing := [task for task in tasks if (model, task) not in scored]:
            lacking.setdefault(", ".join(missing), []).append(model)
    for missing_tasks, models in lacking.items():
        yield note("no-mean", models=", ".join(models), tasks=missing_tasks)


def _on_chance(rows: Sequence[Row]) -> Iterator[Issue]:
    for row in rows:
        if row.above_chance is False and row.chance is not None:
            score, interval, chance = (
                Number(text)
                for text in (
                    f"{row.score.value:.3f}", f"[{row.score.low:.3f}, {row.score.high:.3f}]", f"{row.chance:.3f}",
                )
            )  # fmt: skip
            yield note("not-above-chance", model=row.model, score=score, interval=interval, chance=chance)
