"""Compare runs and return the complete comparison as one object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.compare import breakdowns, results
from mera_ru_tasks.compare.breakdowns import Gap, Slice, Spread
from mera_ru_tasks.compare.load import Entry, load
from mera_ru_tasks.compare.notes import note
from mera_ru_tasks.compare.results import Family, Pair, Results, Row
from mera_ru_tasks.compare.select import MARK, PublishedScore, read_published
from mera_ru_tasks.compare.verdicts import Verdict, summarize, variant_of_mean
from mera_ru_tasks.data.benchmarks import LEADERBOARD, benchmark_of_task
from mera_ru_tasks.issues import Issue, RunError
from mera_ru_tasks.paths import averaged_groups
from mera_ru_tasks.scoring.chance import ChanceLevels
from mera_ru_tasks.scoring.metrics import METRICS, RANKING, STRICT
from mera_ru_tasks.textutil import suggest


@dataclass(frozen=True)
class Comparison:
    """The results of comparing runs. Start with `verdicts`.

    Attributes:
        models: the labels of the models: the chosen baseline, the models with a mean, the others.
        family: the pairs of models to compare, and the rules of the comparison.
        tasks: the names of the tasks in display order.
        entries: the answers of each model to each task.
        verdicts: the verdicts as sentences, with one `Verdict` for each primary measure.
        primary: the primary measures, as (task or name of a mean, metric, filter). All other measures are exploratory.
        means: the means over tasks.
        rows: the scores of the tasks. A row's `group` contains the letters of its significance groups. Its `pair` is
            the comparison with its `baseline`.
        pairs: the pairs of models, for each measure of the tasks and the means (see `results.Pair`).
        slices: `exact_match` on subsets of the tasks.
        spreads: the spreads over prompts.
        gaps: the differences between scores of the same model.
        choices: notes on the selected logs.
        issues: notes on issues in the logs.
    """

    models: Sequence[str]
    family: Family
    tasks: Sequence[str]
    entries: Sequence[Entry]
    verdicts: Sequence[Verdict]
    primary: Sequence[tuple[str, str, str]]
    means: Sequence[Row]
    rows: Sequence[Row]
    pairs: Sequence[Pair]
    slices: Sequence[Slice]
    spreads: Sequence[Spread]
    gaps: Sequence[Gap]
    choices: Sequence[Issue]
    issues: Sequence[Issue]

    @property
    def family_note(self) -> Issue | None:
        """Return a note on the comparisons for which p-values are corrected, or None for a single model."""
        if len(self.models) < 2:
            return None
        baseline = self.family.baseline
        return note("family-baseline", baseline=baseline) if baseline else note("family-pairs")


def compare_runs(
    paths: Sequence[Path],
    *,
    names: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    across_settings: bool = False,
    margin: float | None = None,
    pool: bool = False,
    published: Sequence[Path] = (),
) -> Comparison:
    """Compare the models whose runs are under `paths`.

    The runs need lm-eval's options `--log_samples` and `--output_path`. The newest run of each model and task is used.
    For example, `compare_runs([Path("results")], baseline="EleutherAI/pythia-1.4b").rows` contains all scores.

    Args:
        paths: lm-eval's output folders, folders of models in them, or log files.
        names: the model names to use instead of lm-eval's, by path.
        baseline: the name or label of the model with which the others are compared. By default, all pairs of models are
            compared, and each row is compared with the first model that has the same documents.
        across_settings: True to compare the common documents of runs that have different settings.
        margin: the equivalence margin, from 0 to 1. Two models are equal if the interval of their difference lies
            between −margin and +margin. None for no margin.
        pool: True to pool all runs of a model with the same settings into one row. By default, only runs that differ in
            their sampling seeds are pooled. Otherwise, the newest run is used.
        published: CSV files with published scores (see `select.read_published`).

    Raises:
        RunError: no run is usable, `baseline` matches no model or several models, or a name belongs to several models.
    """
    loaded = load(paths, names or {}, across_settings=across_settings, pool_runs=pool)
    found_tasks = {entry.task for entry in loaded.entries}
    scores = read_published(published, found_tasks)
    labels = list(dict.fromkeys([*(entry.model for entry in loaded.entries), *(one.model for one in scores)]))
    base = _baseline(baseline, loaded.entries, scores) if baseline else None
    complete = _with_all_tasks(loaded.entries)
    models = sorted(labels, key=lambda label: (label != base, label not in complete))
    entries = sorted(loaded.entries, key=lambda entry: models.index(entry.model))
    tasks = sorted(found_tasks, key=_task_order)
    family = Family(base, across_settings, margin)
    rows: list[Row] = []
    pairs: list[Pair] = []
    slices, gaps = [], breakdowns.open_gaps(entries)
    for task in tasks:
        of_task = [entry for entry in entries if entry.task == task]
        docs = {key: answer.doc for entry in of_task for key, answer in entry.answers.items()}
        levels = ChanceLevels(docs)
        found = results.task_results(task, of_task, family, levels, [one for one in scores if one.task == task])
        rows += found.rows
        pairs += found.pairs
        # An incomplete log may contain documents of another task, which would distort the breakdowns.
        whole = [entry for entry in of_task if not entry.incomplete]
        docs = {key: answer.doc for entry in whole for key, answer in entry.answers.items()}
        slices += breakdowns.slices(whole, docs, levels) if docs else []
        gaps += breakdowns.format_gaps(of_task)
    means = results.mean_results(Results(rows, pairs), family)
    spreads = breakdowns.spreads(slices)
    primary = _primary(entries, rows, means.rows)
    every_pair = [*means.pairs, *pairs]
    verdicts = summarize([*means.rows, *rows], every_pair, primary, family)
    return Comparison(
        models, family, tasks, entries, verdicts, primary, means.rows, rows, every_pair, slices, spreads, gaps,
        loaded.choices, [*loaded.issues, *_shared_responses(entries)],
    )  # fmt: skip


def _shared_responses(entries: Sequence[Entry]) -> Iterator[Issue]:
    """Yield notes on models that share a response cache or have identical responses."""
    caches: dict[str, dict[str, None]] = {}
    responses: dict[tuple[str, int], dict[str, None]] = {}
    for entry in entries:
        if isinstance(cache := entry.log.run.config.get("use_cache"), str) and cache:
            caches.setdefault(cache, {})[entry.model] = None
        if any(RANKING in answer.extractions for answer in entry.answers.values()):
            continue  # ranking tasks have no responses
        given = hash(tuple(sorted((key, answer.response) for key, answer in entry.answers.items())))
        responses.setdefault((entry.task, given), {})[entry.model] = None
    for models in caches.values():
        if len(models) > 1:
            yield note("shared-cache", ", ".join(models))
    same: dict[tuple[str, ...], list[str]] = {}
    for (task, _), models in responses.items():
        if len(models) > 1:
            same.setdefault(tuple(models), []).append(task)
    for names, tasks in same.items():
        yield note("same-responses", ", ".join(names), tasks=", ".join(tasks))


def _with_all_tasks(entries: Sequence[Entry]) -> set[str]:
    """Return the models that ran all tasks of a group with a mean."""
    tasks: dict[str, set[str]] = {}
    for entry in entries:
        tasks.setdefault(entry.model, set()).add(entry.task)
    return {model for model, own in tasks.items() if any(own.issuperset(group) for group in averaged_groups().values())}


def _primary(entries: Sequence[Entry], rows: Sequence[Row], means: Sequence[Row]) -> list[tuple[str, str, str]]:
    """Return the primary measures.

    Each task has one. If a variant has a mean of exact_match,strict-match, it replaces the measures of the variant's
    tasks, even if some models have no mean. Otherwise, adding a model that ran only some of the tasks would change the
    verdicts on the other models.
    """
    of_means = [row for row in means if (row.metric, row.filter) == ("exact_match", STRICT)]
    variants = {variant_of_mean(row.task) for row in of_means}
    benchmarks = {entry.task: entry.benchmark for entry in entries}
    found: dict[str, tuple[str, str, str]] = {}
    for row in rows:
        known = benchmark_of_task(row.task)
        if known and "_".join(known[1]) in variants:
            continue
        metric, benchmark = METRICS[row.metric], benchmarks[row.task]
        is_primary = benchmark.name in metric.primary_for if benchmark else row.metric == "exact_match"
        if is_primary and row.filter == metric.filters[0]:
            found.setdefault(row.task, (row.task, row.metric, row.filter))
    return list(dict.fromkeys([*((row.task, row.metric, row.filter) for row in of_means), *found.values()]))


def _baseline(name: str, entries: Sequence[Entry], published: Sequence[PublishedScore]) -> str:
    """Return the label of the model `name`: a label, a full name, or the last component of a name."""
    for meanings in (
        {entry.model for entry in entries if name == entry.model},
        {one.model for one in published if name in (one.model, one.model.removesuffix(MARK))},
        {entry.model for entry in entries if name == entry.log.run.model},
        {entry.model for entry in entries if name == entry.log.run.model.rstrip("/").rpartition("/")[2]},
    ):
        if len(meanings) == 1:
            return meanings.pop()
        if meanings:
            raise RunError(
                f"--baseline {name} matches several models. Use one of {', '.join(map(repr, sorted(meanings)))}."
            )
    raise RunError(f"No runs of the model {name!r} (--baseline). {suggest(name, {one.model for one in entries})}")


def _task_order(task: str) -> tuple[bool, tuple[str, ...], int, str]:
    """Return a sort key that orders tasks by variant and leaderboard position, with custom tasks last."""
    known = benchmark_of_task(task)
    order = [benchmark.name for benchmark in LEADERBOARD]
    position = order.index(known[0].name) if known and known[0].name in order else len(order)
    return known is None, known[1] if known else (), position, task
