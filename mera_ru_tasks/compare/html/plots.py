"""Select the figures of a comparison for the HTML report, and draw them as PNG and SVG files with matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare import breakdowns
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.results import ranking
from mera_ru_tasks.compare.stats import Estimate
from mera_ru_tasks.issues import RunError
from mera_ru_tasks.paths import write_whole
from mera_ru_tasks.scoring.metrics import METRICS, STRICT
from mera_ru_tasks.textutil import printable

FORMATS = ("png", "svg")

SCORES, DIFFERENCE, PART, GAP = "scores", "difference", "part", "gap"

# In inches: the width of a figure, the height of a row, and the space for a panel's title and axis.
_WIDTH, _ROW, _GAP = 7.0, 0.32, 0.8
_INK, _LINE = "#1b1f24", "#9aa4b0"
# The colours of models on a white background. They are the same as `--m0` to `--m9` in report.css.
COLOURS = (
    "#4a5561", "#1f5fbf", "#c2570c", "#17803d", "#8e3fb0", "#b3261e", "#0e7f8a", "#8a6d00", "#b0307a", "#5a4fcf",
)  # fmt: skip


@dataclass(frozen=True)
class Figure:
    """An interval plot.

    Attributes:
        kind: `SCORES`, `DIFFERENCE` (from the baseline), `PART` (a subset of a task) or `GAP` (within each model).
        task: the task, or the name of a mean over tasks.
        metric: the metric.
        filter: the filter. Empty if the figure compares filters.
        by: the property that splits the task, or the kind of gap. Empty for whole tasks.
        part: the subset of the task. Empty for whole tasks.
        rows: the models and their estimates, starting with the best model of the measure.
        reference: the position of the dashed line, which is the chance level or 0. None for no line.
        axis: the ends of the axis.
        baseline: the model from which the differences are taken. Empty for other kinds.
    """

    kind: str
    task: str
    metric: str
    filter: str
    by: str
    part: str
    rows: Sequence[tuple[str, Estimate]]
    reference: float | None
    axis: tuple[float, float]
    baseline: str = ""


def figures(comparison: Comparison) -> list[Figure]:
    """Return the figures of a comparison in page order: scores with differences, subsets of tasks, gaps."""
    return [*_of_scores(comparison), *_of_parts(comparison), *_of_gaps(comparison)]


def rankings(comparison: Comparison) -> dict[tuple[str, str], list[str]]:
    """Return the models from best to worst for each metric and filter."""
    measures = dict.fromkeys((row.metric, row.filter) for row in (*comparison.means, *comparison.rows))
    means, rows = (
        {measure: [row for row in found if (row.metric, row.filter) == measure] for measure in measures}
        for found in (comparison.means, comparison.rows)
    )
    return {measure: ranking(means[measure], rows[measure]) for measure in measures}


def _of_scores(comparison: Comparison) -> Iterator[Figure]:
    rows = [*comparison.means, *comparison.rows]
    orders = rankings(comparison)
    for measure in dict.fromkeys((row.task, row.metric, row.filter) for row in rows):
        own = [row for row in rows if (row.task, row.metric, row.filter) == measure]
        own.sort(key=lambda row: orders[row.metric, row.filter].index(row.model))
        chance = next((row.chance for row in own if row.chance is not None), None)
        scores = [(row.model, row.score) for row in own]
        bounded = METRICS[measure[1]].bounded
        yield Figure(SCORES, *measure, "", "", scores, chance, _axis([scores], chance, 0.0 if bounded else None))
        if differences := [(row.model, row.difference.estimate) for row in own if row.difference]:
            axis = _axis([differences], 0.0, -1.0 if bounded else None)
            yield Figure(DIFFERENCE, *measure, "", "", differences, 0.0, axis, own[0].baseline or "")


def _of_parts(comparison: Comparison) -> Iterator[Figure]:
    orders = rankings(comparison)
    for division in dict.fromkeys((part.task, part.by, part.filter) for part in comparison.slices):
        task, by, name = division
        own = [part for part in comparison.slices if (part.task, part.by, part.filter) == division]
        own.sort(key=lambda part: orders["exact_match", part.filter].index(part.model))
        chances = {part.part: part.chance for part in own}
        rows = {number: [(part.model, part.score) for part in own if part.part == number] for number in chances}
        # All subsets of a task have the same axis, so that readers can compare them.
        lines = [0.0, *(chance for chance in chances.values() if chance is not None)]
        axis = _axis(rows.values(), max(lines), 0.0)
        for number in sorted(rows, key=lambda number: [int(digits) for digits in number.split(".")]):
            yield Figure(PART, task, "exact_match", name, by, number, rows[number], chances[number], axis)


def _of_gaps(comparison: Comparison) -> Iterator[Figure]:
    order = next(iter(rankings(comparison).values()), [])
    for gap in dict.fromkeys((gap.kind, gap.task, gap.filter) for gap in comparison.gaps):
        kind, task, name = gap
        own = [one for one in comparison.gaps if (one.kind, one.task, one.filter) == gap]
        own.sort(key=lambda one: order.index(one.model) if one.model in order else len(order))
        rows = [(one.model, one.value) for one in own]
        yield Figure(GAP, task, "exact_match", name, kind, "", rows, 0.0, _axis([rows], 0.0, -1.0))


# The minimum length of an axis. On a shorter axis, small differences would look large.
_SHORTEST = 0.1


def _axis(
    plots: Iterable[Sequence[tuple[str, Estimate]]], reference: float | None, least: float | None
) -> tuple[float, float]:
    """Return the ends of an axis for intervals and the dashed line, between `least` (if not None) and 1."""
    estimates = [estimate for rows in plots for _, estimate in rows]
    lines = [] if reference is None else [reference]
    ends = [end for one in estimates for end in (one.low, one.value, one.high) if end is not None]
    low, high = min([*lines, *ends]), max([*lines, *ends])
    margin = max(0.04 * (high - low), (_SHORTEST - (high - low)) / 2)
    low, high = low - margin, high + margin
    return (low, high) if least is None else (max(low, least), min(high, 1.0))


def require_matplotlib() -> None:
    """Raise RunError if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise RunError(
            '--plots needs matplotlib, which is not installed. Run `pip install "mera-ru-tasks[report]"`.'
        ) from error


def write_plots(comparison: Comparison, folder: Path, *, everything: bool = False) -> list[Path]:
    """Write the figures to `folder`. Create the folder if necessary, and never overwrite existing files.

    Args:
        comparison: the comparison.
        folder: the folder of the files.
        everything: True for every figure. By default, only the primary measures and each task's strict exact match are
            drawn, because every metric and breakdown would make dozens of files.

    Returns:
        The files written. Each file contains the scores and differences of a measure, or all subsets of a task.

    Raises:
        RunError: one of the files already exists.
    """
    plots: dict[str, list[Figure]] = {}
    for figure in figures(comparison):
        measure = (figure.task, figure.metric, figure.filter)
        is_main = measure in comparison.primary or measure[1:] == ("exact_match", STRICT)
        if not everything and not (figure.kind in (SCORES, DIFFERENCE) and is_main):
            continue
        plots.setdefault(_file_name(figure), []).append(figure)
    files = [folder / f"{name}.{ending}" for name in plots for ending in FORMATS]
    if there := [file for file in files if file.exists()]:
        raise RunError(f"{there[0]} already exists. Choose another folder with --plots, or delete the file.")
    folder.mkdir(parents=True, exist_ok=True)
    colours = {model: COLOURS[number % len(COLOURS)] for number, model in enumerate(comparison.models)}
    for name, panels in plots.items():
        titles = [_title(panel) for panel in panels]
        _draw(panels, titles, colours, [folder / f"{name}.{ending}" for ending in FORMATS])
    return files


def _file_name(figure: Figure) -> str:
    parts = {
        SCORES: ("scores", figure.task, figure.metric, figure.filter),
        DIFFERENCE: ("scores", figure.task, figure.metric, figure.filter),
        PART: ("by", figure.by, figure.task, figure.filter),
        GAP: ("within", figure.by, figure.task, figure.filter),
    }
    return "_".join(re.sub(r"[^\w.-]+", "-", part) for part in parts[figure.kind] if part)


def _title(figure: Figure) -> str:
    if figure.kind == SCORES:
        return f"{figure.task}: {figure.metric}, {figure.filter}"
    if figure.kind == DIFFERENCE:
        return f"difference against {figure.baseline}"
    if figure.kind == PART:
        return f"{figure.by.replace('_', ' ')} {figure.part} (n = {figure.rows[0][1].n})"
    title = "flexible − strict" if figure.by == breakdowns.FORMAT else f"open − closed, {figure.filter}"
    return f"{figure.task}: {title}"


def _draw(panels: Sequence[Figure], titles: Sequence[str], colours: dict[str, str], files: Sequence[Path]) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    # Do not parse names as formulas, keep text in SVG files as text, and write the same file for the same data.
    with rc_context({"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "mera-ru-tasks"}):
        heights = [len(panel.rows) * _ROW for panel in panels]
        height = sum(heights) + _GAP * len(panels)
        canvas = Canvas(figsize=(_WIDTH, height))
        FigureCanvasAgg(canvas)
        longest = max(len(_label(name)) for panel in panels for name, _ in panel.rows)
        left = (0.3 + 0.085 * longest) / _WIDTH
        bottom = height
        for panel, title, own in zip(panels, titles, heights, strict=True):
            # The layout is computed here, because matplotlib's layout engines would take most of the time.
            bottom -= own + _GAP
            box = (left, (bottom + _GAP / 2) / height, 0.97 - left, own / height)
            _draw_panel(panel, title, colours, canvas.add_axes(box))
        for file in files:
            drawn = io.BytesIO()
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            canvas.savefig(drawn, format=file.suffix[1:], dpi=160, metadata=metadata)
            write_whole(file, drawn.getvalue())


def _label(name: str) -> str:
    """Return a model's name as a label. The start of a long name is cut, because the end distinguishes models."""
    name = printable(name).replace("\n", " ")
    return name if len(name) <= 40 else "…" + name[-39:]


def _draw_panel(panel: Figure, title: str, colours: dict[str, str], axis: Any) -> None:
    heights = range(len(panel.rows), 0, -1)
    for height, (model, estimate) in zip(heights, panel.rows, strict=True):
        ends = None
        if estimate.low is not None and estimate.high is not None:
            ends = [[max(0.0, estimate.value - estimate.low)], [max(0.0, estimate.high - estimate.value)]]
        axis.errorbar([estimate.value], [height], xerr=ends, fmt="o", color=colours[model], markersize=5, linewidth=1.8)
    axis.set_yticks(list(heights), [_label(name) for name, _ in panel.rows])
    axis.set_ylim(0.4, len(panel.rows) + 0.6)
    axis.set_xlim(*panel.axis)
    if panel.reference is not None:
        axis.axvline(panel.reference, color=_LINE, linestyle="--", linewidth=1)
    axis.grid(axis="x", color=_LINE, alpha=0.3)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.set_title(printable(title), loc="left", fontsize=10, color=_INK)
