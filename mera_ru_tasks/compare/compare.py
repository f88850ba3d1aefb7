"""Compare runs: the whole comparison in one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.compare import breakdowns, results
from mera_ru_tasks.compare.breakdowns import Gap, Slice, Spread
from mera_ru_tasks.compare.chance import ChanceLevels
from mera_ru_tasks.compare.load import Entry, load
from mera_ru_tasks.compare.results import Row
from mera_ru_tasks.data.benchmarks import LEADERBOARD, benchmark_of_task
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.issues import Issue


@dataclass(frozen=True)
class Comparison:
    """A comparison of runs, and its results.

    Attributes:
        models: the models' labels, the baseline first.
        baseline: the model that the others are compared with; None for a single model.
        tasks: the tasks' names, in order.
        entries: each model's answers to each task.
        means: the means over tasks.
        rows: the scores of the tasks.
        slices: `exact_match` on parts of the tasks.
        spreads: the spread over prompts.
        gaps: differences within models.
        choices: notes on the logs that were taken.
        problems: notes on what is wrong with the logs.
    """

    models: Sequence[str]
    baseline: str | None
    tasks: Sequence[str]
    entries: Sequence[Entry]
    means: Sequence[Row]
    rows: Sequence[Row]
    slices: Sequence[Slice]
    spreads: Sequence[Spread]
    gaps: Sequence[Gap]
    choices: Sequence[Issue]
    problems: Sequence[Issue]


def compare_runs(
    paths: Sequence[Path],
    *,
    names: Mapping[Path, str] | None = None,
    baseline: str | None = None,
    across_settings: bool = False,
) -> Comparison:
    """Compare the models whose runs are under `paths`.

    The runs must have been made with lm-eval's `--log_samples` and `--output_path`. Of each model and task the newest
    run counts. For example, `compare_runs([Path("results")], baseline="EleutherAI/pythia-1.4b").rows` are all scores.

    Args:
        paths: lm-eval's output folders, folders of models in them, or log files.
        names: the model's name for the runs of a path, in place of lm-eval's name.
        baseline: the model that the others are compared with, by its name or label. Default: the first model of the
            first path.
        across_settings: True to compare the common documents of runs in spite of different settings.

    Raises:
        RunError: no run is usable, no model or several are called `baseline`, or a name fits several models.
    """
    loaded = load(paths, names or {}, across_settings=across_settings)
    labels = list(dict.fromkeys(entry.model for entry in loaded.entries))
    base = _baseline(baseline, loaded.entries) if baseline else labels[0] if len(labels) > 1 else None
    models = sorted(labels, key=lambda label: label != base)
    entries = sorted(loaded.entries, key=lambda entry: models.index(entry.model))
    tasks = sorted({entry.task for entry in entries}, key=_task_order)
    rows, slices, gaps = [], [], breakdowns.open_gaps(entries)
    for task in tasks:
        of_task = [entry for entry in entries if entry.task == task]
        docs = {key: answer.doc for entry in of_task for key, answer in entry.answers.items()}
        levels = ChanceLevels(docs)
        rows += results.task_rows(task, of_task, base, levels, across_settings=across_settings)
        slices += breakdowns.slices(of_task, docs, levels)
        gaps += breakdowns.format_gaps(of_task)
    means = results.mean_rows(rows, _suite)
    spreads = breakdowns.spreads(slices)
    return Comparison(models, base, tasks, entries, means, rows, slices, spreads, gaps, loaded.choices, loaded.problems)


def _baseline(name: str, entries: Sequence[Entry]) -> str:
    """Return the label that `name` means: a label, a model's full name, or the last part of one."""
    for meanings in (
        {entry.model for entry in entries if name == entry.model},
        {entry.model for entry in entries if name == entry.log.run.model},
        {entry.model for entry in entries if name == entry.log.run.model.rstrip("/").rpartition("/")[2]},
    ):
        if len(meanings) == 1:
            return meanings.pop()
        if meanings:
            raise RunError(f"--baseline {name} could be {' or '.join(map(repr, sorted(meanings)))}. Name one of these.")
    known = ", ".join(repr(label) for label in dict.fromkeys(entry.model for entry in entries))
    raise RunError(f"No run is of the model {name!r} (--baseline). There are runs of: {known}.")


def _task_order(task: str) -> tuple[bool, tuple[str, ...], int, str]:
    """Sort by suite, then as on the leaderboard; custom tasks come last."""
    known = benchmark_of_task(task)
    order = [benchmark.name for benchmark in LEADERBOARD]
    place = order.index(known[0].name) if known and known[0].name in order else len(order)
    return known is None, known[1] if known else (), place, task


def _suite(task: str) -> str | None:
    """Return what a task is averaged with: the leaderboard's tasks in the same variants."""
    known = benchmark_of_task(task)
    return "_".join(known[1]) if known and known[0] in LEADERBOARD else None
