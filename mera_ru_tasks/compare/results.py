"""Compute scores, differences between models, means over tasks, and significance groups from entries."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from mera_ru_tasks.compare import stats, verdicts
from mera_ru_tasks.compare.comparability import (
    Comparability,
    comparability,
    judge_notes,
    judge_of,
    measure_differences,
)
from mera_ru_tasks.compare.load import Entry
from mera_ru_tasks.compare.notes import exchanged, note
from mera_ru_tasks.compare.select import MARK, PublishedScore
from mera_ru_tasks.compare.stats import ONE_RUN, Difference, Estimate, RunVariance
from mera_ru_tasks.compare.verdicts import mean_of
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.logs.reader import Measure
from mera_ru_tasks.paths import averaged_groups
from mera_ru_tasks.scoring.chance import ChanceLevels
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT

_Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Pair:
    """The comparison of two models for one task, metric and filter.

    Attributes:
        task: the task, or the name of a mean over tasks.
        metric: the metric.
        filter: the filter, or `judge NAME`.
        model: the label of the first model.
        other: the label of the second model.
        difference: the score of `model` minus the score of `other`, or None if the models are not compared.
        p_holm: the p-value after Holm's correction for all compared pairs of this task, metric and filter (the family).
        family: the number of pairs in the family.
        verdict: the verdict, as a note whose code is in `verdicts.CODES`. notes.json contains its texts.
        why_not: the reasons why the models are not compared. Empty if they are compared.
        notes: notes on the difference.
    """

    task: str
    metric: str
    filter: str
    model: str
    other: str
    difference: Difference | None
    p_holm: float | None = None
    family: int = 0
    verdict: Issue | None = None
    why_not: tuple[Issue, ...] = ()
    notes: tuple[Issue, ...] = ()


@dataclass(frozen=True)
class Row:
    """The score of one model for one task, metric and filter.

    Attributes:
        task: the task, or the name of a mean over tasks.
        metric: the metric.
        filter: the filter, or `judge NAME`.
        model: the model's label.
        score: the score.
        chance: the chance level, or None if the metric has no chance level.
        incomplete: notes on unscored documents and on a possibly incomplete log.
        judge: the judge that gave the score (see `judge.config.identity`), or None if no judge is known.
        above_chance: True if the interval of the score lies above the chance level. None without a chance level or an
            interval.
        group: the letters of the significance groups. Models that share a letter are not significantly different. Empty
            if the user chose a baseline, or if this model is not compared with each of the other models.
        baseline: the model with which the rows of this measure are compared: the one that the user chose, or the first
            model that is compared with another. None for a single model.
        pair: the comparison with the baseline. None for the baseline itself and for a single model.
    """

    task: str
    metric: str
    filter: str
    model: str
    score: Estimate
    chance: float | None
    incomplete: tuple[Issue, ...] = ()
    judge: Mapping[str, Any] | None = None
    above_chance: bool | None = None
    group: str = ""
    baseline: str | None = None
    pair: Pair | None = None

    @property
    def difference(self) -> Difference | None:
        """The score minus the baseline's score. None for the baseline itself and for models not compared with it."""
        return self.pair.difference if self.pair else None

    @property
    def p_holm(self) -> float | None:
        """The corrected p-value of `difference`, or None without a p-value."""
        return self.pair.p_holm if self.pair else None

    @property
    def why_not(self) -> tuple[Issue, ...]:
        """The reasons why the model is not compared with the baseline. Empty for the baseline itself."""
        return self.pair.why_not if self.pair else ()

    @property
    def notes(self) -> tuple[Issue, ...]:
        """Notes on the difference."""
        return self.pair.notes if self.pair else ()


@dataclass(frozen=True)
class Family:
    """The pairs of models to compare, and the rules of the comparison.

    Attributes:
        baseline: the model that the user chose as the baseline, or None. With a baseline, only pairs with it are
            compared. Otherwise, all pairs are compared.
        across_settings: True to compare the common documents of runs that have different settings.
        margin: the equivalence margin (see `compare.compare_runs`), or None for no margin.
    """

    baseline: str | None = None
    across_settings: bool = False
    margin: float | None = None

    def pairs(self, models: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield the pairs of models to compare. The second model of each pair is the one to compare with."""
        if self.baseline is None:
            yield from ((second, first) for first, second in itertools.combinations(models, 2))
        else:
            yield from ((model, self.baseline) for model in models if model != self.baseline)


@dataclass(frozen=True)
class Results:
    """Rows of scores, and the pairs of models for the same measures."""

    rows: Sequence[Row]
    pairs: Sequence[Pair]


def sort_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures in display order: by metric, then the strict filter, the flexible filter and judges."""
    filters = (STRICT, FLEXIBLE)
    return sorted(
        dict.fromkeys(measures),
        key=lambda measure: (
            list(METRICS).index(measure[0]),
            filters.index(measure[1]) if measure[1] in filters else len(filters),
            measure[1],
        ),
    )


def ranking(means: Sequence[Row], rows: Sequence[Row]) -> list[str]:
    """Return the models from best to worst by one measure.

    Models are ranked by their first mean, or by the average of all their tasks if they have no mean. Models that are
    not compared with the baseline come after the others, because their scores measure something else.

    Args:
        means: the rows of the means over tasks for the measure.
        rows: the rows of single tasks for the measure.
    """
    names = list(dict.fromkeys(row.task for row in means))
    own: dict[str, dict[str, Row]] = defaultdict(dict)
    for row in (*means, *rows):
        own[row.model][row.task] = row

    def rank(model: str) -> tuple[int, bool, float]:
        first = next((n for n, task in enumerate(names) if task in own[model]), len(names))
        counted = [own[model][names[first]]] if first < len(names) else list(own[model].values())
        sign = -1 if METRICS[counted[0].metric].higher_is_better else 1
        mean = sum(row.score.value for row in counted) / len(counted)
        return first, any(row.why_not for row in counted), sign * mean

    return sorted(own, key=rank)


def estimate(entry: Entry, values: Mapping[str, Any], metric: str, runs: RunVariance = ONE_RUN) -> Estimate:
    """Estimate the score of a metric from an entry's values. Take clusters of documents into account."""
    found = _Values.of(entry, values)
    array = _scores_of(found.array, metric)
    return stats.mean_estimate(array, found.clusters, bounded=METRICS[metric].bounded, runs=runs)


def difference(entry: Entry, values: Mapping[str, Any], baseline: Mapping[str, Any], metric: str) -> Difference | None:
    """Estimate the score of `values` minus that of `baseline` for their common keys; None without common keys."""
    return _difference(_Values.of(entry, values), _Values.of(entry, baseline), metric)


@dataclass(frozen=True)
class _Values:
    """An entry's values of a measure as an array, with their keys and clusters."""

    entry: Entry
    keys: list[str]
    array: _Array

    @classmethod
    def of(cls, entry: Entry, values: Mapping[str, Any]) -> _Values:
        return cls(entry, list(values), np.array(list(values.values()), float))

    @cached_property
    def clusters(self) -> _Array | None:
        return _clusters(self.entry, self.keys)

    def at(self, keys: list[str]) -> _Array:
        if keys == self.keys:
            return self.array
        indices = {key: index for index, key in enumerate(self.keys)}
        return self.array[[indices[key] for key in keys]]


def _difference(values: _Values, baseline: _Values, metric: str, runs: RunVariance = ONE_RUN) -> Difference | None:
    keys, same = values.keys, values.keys == baseline.keys
    if not same:
        others = set(baseline.keys)
        keys = [key for key in keys if key in others]
    if not keys:
        return None
    ours, theirs = (_scores_of(one.at(keys), metric) for one in (values, baseline))
    of = METRICS[metric]
    clusters = values.clusters if same else _clusters(values.entry, keys)
    found = stats.paired_difference(ours, theirs, clusters, bounded=of.bounded, runs=runs)
    return found if of.higher_is_better else replace(found, won=found.lost, lost=found.won)


def _scores_of(array: _Array, metric: str) -> _Array:
    return stats.linearized(array[:, 0], array[:, 1]) if METRICS[metric].ratio else array


def _clusters(entry: Entry, keys: Sequence[str]) -> _Array | None:
    found = [entry.clusters.get(key) for key in keys] if entry.clusters else []
    return np.array(found) if found and None not in found else None


def task_results(
    task: str,
    entries: Sequence[Entry],
    family: Family,
    levels: ChanceLevels,
    published: Sequence[PublishedScore] = (),
) -> Results:
    """Return the results of one task for each measure, with the models in the order of the entries.

    Args:
        task: the task.
        entries: the answers of each model to the task.
        family: the pairs of models to compare.
        levels: the chance levels over the task's documents.
        published: published scores of the task. Their rows come after those of the runs.
    """
    compared = _Comparabilities(entries, family)
    rows: list[Row] = []
    pairs: list[Pair] = []
    measures = [measure for entry in entries for measure in entry.measures]
    for measure in sort_measures([*measures, *(one.measure for one in published)]):
        block = []
        for entry in entries:
            if not entry.values(measure):
                continue
            scored = entry.counted(measure)
            level = levels.of(measure[0], scored)
            score = estimate(entry, entry.values(measure), measure[0], entry.run_variance(measure))
            row = Row(
                task,
                *measure,
                entry.model,
                score,
                level,
                _incomplete(entry, measure, len(scored)),
                judge_of(entry, measure),
            )
            block.append(row)
        block += _published_rows([one for one in published if one.measure == measure], block)
        scores = {row.model: row.score for row in block}
        found = [_pair(task, measure, *names, compared, scores) for names in family.pairs([*scores])]
        done = conclude(block, found, family)
        rows += done.rows
        pairs += done.pairs
    return Results(rows, pairs)


def _published_rows(published: Sequence[PublishedScore], block: Sequence[Row]) -> list[Row]:
    """Return rows of published scores. Assume that their documents are clustered as in the runs."""
    effects = [row.score.effective / row.score.n for row in block if row.score.effective]
    effect = min(1.0, float(np.median(effects))) if effects else 1.0
    chance = block[0].chance if block else None
    return [Row(one.task, *one.measure, one.model, one.estimate(effect), chance) for one in published]


class _Comparabilities:
    """A cache of the comparability of pairs of entries, and of entries' values as arrays, for one task."""

    def __init__(self, entries: Sequence[Entry], family: Family) -> None:
        self.entries = {entry.model: entry for entry in entries}
        self._across = family.across_settings
        self._known: dict[tuple[str, str], Comparability] = {}
        self._values: dict[tuple[str, Measure], _Values] = {}

    def of(self, model: str, other: str) -> Comparability:
        if (model, other) not in self._known:
            entries = self.entries[model], self.entries[other]
            self._known[model, other] = comparability(*entries, across_settings=self._across)
        return self._known[model, other]

    def values(self, model: str, measure: Measure) -> _Values:
        if (model, measure) not in self._values:
            entry = self.entries[model]
            self._values[model, measure] = _Values.of(entry, entry.values(measure))
        return self._values[model, measure]


def _incomplete(entry: Entry, measure: Measure, scored: int) -> tuple[Issue, ...]:
    if scored < entry.size:
        return (note("incomplete", task=entry.task, scored=scored, all=entry.size),)
    return (note("unverified", task=entry.task),) if entry.is_unverified(measure) else ()


def _pair(
    task: str,
    measure: Measure,
    model: str,
    other: str,
    compared: _Comparabilities,
    scores: Mapping[str, Estimate],
) -> Pair:
    pair = Pair(task, *measure, model, other, None)
    if other not in scores:
        return replace(pair, why_not=(note("no-such-score", baseline=other),))
    if model not in compared.entries or other not in compared.entries:
        return _published_pair(pair, scores)
    entry, base = compared.entries[model], compared.entries[other]
    found = compared.of(model, other)
    differing = tuple(measure_differences(entry, base, measure))
    if not found.allows(differing):
        return replace(pair, why_not=(*found.differences, *differing))
    runs = entry.run_variance(measure) + base.run_variance(measure)
    ours, theirs = compared.values(model, measure), compared.values(other, measure)
    paired = _difference(ours, theirs, measure[0], runs)
    if paired is None:
        return replace(pair, why_not=(note("no-common-score"),))
    about_measure = differing or tuple(judge_notes(entry, measure))
    part = _common_part(pair, paired.estimate.n, max(scores[model].n, scores[other].n))
    if not part and (entry.is_unverified(measure) or base.is_unverified(measure)):
        part = (note("unverified", task=task),)
    return replace(pair, difference=paired, notes=(*found.differences, *found.notes, *about_measure, *part))


def _published_pair(pair: Pair, scores: Mapping[str, Estimate]) -> Pair:
    if METRICS[pair.metric].judged:
        names = ", ".join(name for name in (pair.model, pair.other) if name.endswith(MARK))
        return replace(pair, why_not=(note("unknown-judge", models=names),))
    found = stats.unpaired_difference(scores[pair.model], scores[pair.other])
    return replace(pair, difference=found, notes=(note("unpaired"),))


def _common_part(pair: Pair, common: int, most: int) -> tuple[Issue, ...]:
    """Return a note if a difference covers fewer documents or groups than the scores of the two models."""
    unit = "common-groups" if METRICS[pair.metric].grouped else "common-documents"
    return (note(unit, task=pair.task, n=common),) if common < most else ()


def conclude(rows: Sequence[Row], pairs: Sequence[Pair], family: Family) -> Results:
    """Correct the p-values of one measure, and add verdicts to the pairs and significance groups to the rows."""
    tested = [pair.difference.p for pair in pairs if pair.difference and pair.difference.p is not None]
    corrected = iter(stats.holm(tested))
    finished = []
    for pair in pairs:
        if pair.difference and pair.difference.p is not None:
            pair = replace(pair, p_holm=next(corrected), family=len(tested))
        finished.append(replace(pair, verdict=verdicts.verdict(pair, family.margin)))
    groups = {} if family.baseline else _groups(rows, finished)
    baseline = family.baseline or _first_compared(rows, finished)
    with_baseline = {pair.model: pair for pair in finished if pair.other == baseline}
    # Models before the baseline are not compared with it. Their pairs name them as the second model.
    with_baseline |= {pair.other: _exchanged(pair) for pair in finished if pair.model == baseline}
    shown = [
        replace(
            row,
            above_chance=None if row.chance is None or row.score.low is None else row.score.low > row.chance,
            group=groups.get(row.model, ""),
            baseline=baseline,
            pair=with_baseline.get(row.model),
        )
        for row in rows
    ]
    return Results(shown, finished)


def _first_compared(rows: Sequence[Row], pairs: Sequence[Pair]) -> str | None:
    """Return the first model that is compared with another, so that a model without common documents is no baseline."""
    compared = {model for pair in pairs if pair.difference for model in (pair.model, pair.other)}
    models = [row.model for row in rows]
    return next((model for model in models if model in compared), models[0] if len(models) > 1 else None)


def _exchanged(pair: Pair) -> Pair:
    """Return a pair that is not compared with its two models exchanged."""
    return replace(pair, model=pair.other, other=pair.model, why_not=tuple(map(exchanged, pair.why_not)))


def _groups(rows: Sequence[Row], pairs: Sequence[Pair]) -> Mapping[str, str]:
    """Return the group letters of the models that are all compared with each other, if there are at least two."""
    if not rows:
        return {}
    better = -1 if METRICS[rows[0].metric].higher_is_better else 1
    models = [row.model for row in sorted(rows, key=lambda row: better * row.score.value)]
    untested = [{pair.model, pair.other} for pair in pairs if pair.p_holm is None]
    while any(pair <= set(models) for pair in untested):
        models.remove(max(models, key=lambda model: sum(model in pair and pair <= set(models) for pair in untested)))
    if len(models) < 2:
        return {}
    different = [
        (pair.model, pair.other)
        for pair in pairs
        if pair.p_holm is not None and pair.p_holm < stats.ALPHA and {pair.model, pair.other} <= set(models)
    ]
    return stats.letters(models, different)


def mean_results(found: Results, family: Family) -> Results:
    """Return the unweighted means over groups of tasks. Each model needs a score for every task of a group.

    Args:
        found: the results of the tasks.
        family: the pairs of models to compare.
    """
    groups = averaged_groups()
    group_of = {task: group for group, tasks in groups.items() for task in tasks}
    scores: dict[tuple[str, str, str], dict[str, dict[str, Row]]] = defaultdict(lambda: defaultdict(dict))
    for row in found.rows:
        if row.task in group_of and row.metric in ("exact_match", "judge_score"):
            scores[group_of[row.task], row.metric, row.filter][row.model][row.task] = row
    by_names = {(pair.task, pair.metric, pair.filter, pair.model, pair.other): pair for pair in found.pairs}
    rows: list[Row] = []
    pairs: list[Pair] = []
    for (group, metric, filter_name), models in scores.items():
        parts = {
            model: list(tasks.values())
            for model, tasks in models.items()
            # A mean over scores of different judges would be meaningless.
            if len(tasks) == len(groups[group]) and len({str(row.judge) for row in tasks.values()}) == 1
        }
        measure = (mean_of(group), metric, filter_name)
        block = [_mean_row(measure, model, own) for model, own in parts.items()]
        means = []
        for model, other in family.pairs([*parts]):
            keys = [(row.task, metric, filter_name, model, other) for row in parts[model]]
            means.append(_mean_pair(measure, model, other, [by_names.get(key) for key in keys]))
        done = conclude(block, means, family)
        rows += done.rows
        pairs += done.pairs
    return Results(rows, pairs)


def _mean_row(measure: tuple[str, str, str], model: str, parts: Sequence[Row]) -> Row:
    score = stats.combine([row.score for row in parts], [1 / len(parts)] * len(parts))
    levels = [row.chance for row in parts if row.chance is not None]
    chance = sum(levels) / len(levels) if len(levels) == len(parts) else None
    return Row(*measure, model, score, chance, _united(row.incomplete for row in parts), parts[0].judge)


def _mean_pair(measure: tuple[str, str, str], model: str, other: str, parts: Sequence[Pair | None]) -> Pair:
    pairs = [pair for pair in parts if pair]
    differences = [pair.difference for pair in pairs if pair.difference]
    if len(differences) < len(parts):
        why_not = _united(pair.why_not for pair in pairs) or (note("no-such-score", baseline=other),)
        return Pair(*measure, model, other, None, why_not=why_not)
    mean = stats.mean_of_differences(differences)
    return Pair(*measure, model, other, mean, notes=_united(pair.notes for pair in pairs))


def _united(found: Any) -> tuple[Issue, ...]:
    """Return the notes of several sequences without duplicates."""
    return tuple(dict.fromkeys(one for notes in found for one in notes))
