"""Draw the report's plots as PNG and SVG files with matplotlib."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare import breakdowns
from mera_ru_tasks.compare.breakdowns import Slice
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.stats import Estimate
from mera_ru_tasks.issues import RunError
from mera_ru_tasks.paths import write_whole
from mera_ru_tasks.textutil import printable

FORMATS = ("png", "svg")

# Inches: the width, a row's height, and a panel's space for title and axis.
_WIDTH, _ROW, _GAP = 7.0, 0.32, 0.8
_INK, _LINE, _DOT = "#1b1f24", "#9aa4b0", "#1f5fbf"


@dataclass(frozen=True)
class Panel:
    """An interval plot.

    Attributes:
        title: its title.
        rows: the intervals to draw, from top to bottom.
        reference: the position of a dashed line; None for no line.
        low: the start of the axis; None for an axis that fits the data and is centred at 0.
    """

    title: str
    rows: Sequence[tuple[str, Estimate]]
    reference: float | None
    low: float | None = 0.0


def require_matplotlib() -> None:
    """Raise RunError if matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise RunError(
            '--plots needs matplotlib, which is not installed. Run `pip install "mera-ru-tasks[report]"`.'
        ) from error


def write_plots(comparison: Comparison, folder: Path) -> list[Path]:
    """Write every plot into `folder`, creating it if necessary; existing files are never overwritten.

    Returns:
        The files written.

    Raises:
        RunError: a file with one of these names exists.
    """
    plots = dict(_plots(comparison))
    files = [folder / f"{name}.{ending}" for name in plots for ending in FORMATS]
    if there := [file for file in files if file.exists()]:
        raise RunError(f"{there[0]} already exists. Choose another folder with --plots, or delete the file.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, panels in plots.items():
        _draw(panels, [folder / f"{name}.{ending}" for ending in FORMATS])
    return files


def _plots(comparison: Comparison) -> Iterator[tuple[str, Sequence[Panel]]]:
    """Return the plots by file name."""
    rows = [*comparison.means, *comparison.rows]
    for task, metric, pipeline in dict.fromkeys((row.task, row.metric, row.filter) for row in rows):
        own = [row for row in rows if (row.task, row.metric, row.filter) == (task, metric, pipeline)]
        scores = [(row.model, row.score) for row in own]
        panels = [
            Panel(f"{task}: {metric}, {pipeline}", scores, next((r.chance for r in own if r.chance is not None), None))
        ]
        if differences := [(row.model, row.difference.estimate) for row in own if row.difference]:
            panels.append(Panel(f"difference against {comparison.baseline}", differences, 0.0, None))
        yield _name("scores", task, metric, pipeline), panels
    for task, by, pipeline in dict.fromkeys((part.task, part.by, part.filter) for part in comparison.slices):
        slices = [part for part in comparison.slices if (part.task, part.by, part.filter) == (task, by, pipeline)]
        yield _name("by", by, task, pipeline), _part_panels(slices)
    for kind, task, pipeline in dict.fromkeys((gap.kind, gap.task, gap.filter) for gap in comparison.gaps):
        found = [gap for gap in comparison.gaps if (gap.kind, gap.task, gap.filter) == (kind, task, pipeline)]
        title = "flexible − strict" if kind == breakdowns.FORMAT else f"open − closed, {pipeline}"
        panel = Panel(f"{task}: {title}", [(gap.model, gap.value) for gap in found], 0.0, None)
        yield _name("within", kind, task, pipeline), [panel]


def _part_panels(slices: Sequence[Slice]) -> list[Panel]:
    panels = []
    for name in dict.fromkeys(part.part for part in slices):
        own = [part for part in slices if part.part == name]
        title = f"{own[0].by.replace('_', ' ')} {name} (n = {own[0].score.n})"
        panels.append(Panel(title, [(part.model, part.score) for part in own], own[0].chance))
    return panels


def _name(*parts: str) -> str:
    return "_".join(re.sub(r"[^\w.-]+", "-", part) for part in parts if part)


def _draw(panels: Sequence[Panel], files: Sequence[Path]) -> None:
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # Names are not parsed as formulas, text in SVG stays text, and equal data give equal files.
    with rc_context({"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "mera-ru-tasks"}):
        heights = [len(panel.rows) * _ROW for panel in panels]
        height = sum(heights) + _GAP * len(panels)
        figure = Figure(figsize=(_WIDTH, height))
        FigureCanvasAgg(figure)
        longest = max(len(_label(name)) for panel in panels for name, _ in panel.rows)
        left = (0.3 + 0.085 * longest) / _WIDTH
        bottom = height
        for panel, own in zip(panels, heights, strict=True):
            # Manual layout: a layout engine would take most of the time.
            bottom -= own + _GAP
            box = (left, (bottom + _GAP / 2) / height, 0.97 - left, own / height)
            _draw_panel(panel, figure.add_axes(box))
        for file in files:
            drawn = io.BytesIO()
            metadata = {"Date": None} if file.suffix == ".svg" else {}
            figure.savefig(drawn, format=file.suffix[1:], dpi=160, metadata=metadata)
            write_whole(file, drawn.getvalue())


def _label(name: str) -> str:
    """Return a model's name as a label; a long name is shortened to its end, which distinguishes it."""
    name = printable(name).replace("\n", " ")
    return name if len(name) <= 40 else "…" + name[-39:]


def _draw_panel(panel: Panel, axis: Any) -> None:
    places = range(len(panel.rows), 0, -1)
    values = [estimate.value for _, estimate in panel.rows]
    errors = [
        [max(0.0, estimate.value - estimate.low) for _, estimate in panel.rows],
        [max(0.0, estimate.high - estimate.value) for _, estimate in panel.rows],
    ]
    axis.errorbar(values, list(places), xerr=errors, fmt="o", color=_DOT, markersize=5, linewidth=1.8)
    axis.set_yticks(list(places), [_label(name) for name, _ in panel.rows])
    axis.set_ylim(0.4, len(panel.rows) + 0.6)
    if panel.low is None:
        most = max(0.1, *(max(abs(estimate.low), abs(estimate.high)) for _, estimate in panel.rows))
        axis.set_xlim(-1.05 * most, 1.05 * most)
    else:
        axis.set_xlim(panel.low - 0.02, 1.02)
    if panel.reference is not None:
        axis.axvline(panel.reference, color=_LINE, linestyle="--", linewidth=1)
    axis.grid(axis="x", color=_LINE, alpha=0.3)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.tick_params(axis="y", length=0)
    axis.set_title(printable(panel.title), loc="left", fontsize=10, color=_INK)
