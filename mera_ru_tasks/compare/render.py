"""Render a comparison as text tables for the terminal, Markdown and LaTeX, and print them in the terminal."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable

from mera_ru_tasks.compare import breakdowns
from mera_ru_tasks.compare.breakdowns import Slice, Spread
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.notes import fragment, joined, note, sentence
from mera_ru_tasks.compare.results import Row
from mera_ru_tasks.compare.stats import FEWEST_CLUSTERS, Estimate
from mera_ru_tasks.compare.verdicts import column_name, p_value, variant_of_mean
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, RANKING, STRICT
from mera_ru_tasks.textutil import cell, console, echo, printable

_BY = {
    breakdowns.TYPE: "by type",
    breakdowns.LETTERS: "by number of correct letters",
    breakdowns.ANSWERS: "by number of accepted answers",
}

# The minimum and maximum width of a model's name in the terminal, in characters. The start of longer names is cut.
_NAME, _LONG = 18, 30


@dataclass(frozen=True)
class Table:
    """A table of text cells.

    Attributes:
        heading: the task or mean over tasks. Consecutive tables with the same heading share it.
        title: the measure or breakdown.
        columns: the names of the columns.
        texts: the number of text columns on the left. The other columns contain numbers.
        sections: the rows, in sections that are separated by lines.
        notes: the notes below the table.
        split: the index of the column at which the table is split if the terminal is too narrow. The second part
            repeats the first column. None for a table that is never split.
    """

    heading: str
    title: str
    columns: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]
    notes: Sequence[str] = ()
    split: int | None = None


def number(value: float | None) -> str:
    """Format a score with three decimals; a score that rounds to 0 has no sign."""
    return "–" if value is None else f"{round(value, 3) + 0.0:.3f}"


def signed(value: float) -> str:
    """Format a difference with its sign; a difference that rounds to 0 has none."""
    text = f"{value:+.3f}"
    return text.replace("-", "−") if float(text) else text[1:]


def interval(estimate: Estimate) -> str:
    """Format an interval in brackets. Without an interval, return a dash."""
    if estimate.low is None:
        return number(None)
    return f"[{number(estimate.low)}, {number(estimate.high)}]".replace("-", "−")


def tables(comparison: Comparison) -> Iterator[Table]:
    """Yield all tables, starting with the means over tasks."""
    yield from _measures(comparison, [*comparison.means, *comparison.rows])
    if gaps := list(_gaps(comparison)):
        yield Table(
            "Within each model", "differences between filters and between sets of riddles",
            ["model", "task", "difference", "value", "95% interval"], 3, [gaps],
            ["Flexible − strict: points lost to the answer format. Open − closed: above 0, riddles may be memorised."],
        )  # fmt: skip
    for task in comparison.tasks:
        slices = [part for part in comparison.slices if part.task == task]
        for by in dict.fromkeys(part.by for part in slices):
            chosen = [part for part in slices if part.by == by]
            if by == breakdowns.PROMPT:
                yield _by_prompt(task, chosen, [s for s in comparison.spreads if s.task == task])
            else:
                yield _by_part(comparison, task, by, chosen)


def main_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the tables of means and tasks, without breakdowns and the scores of flexible-extract."""
    rows = [*comparison.means, *comparison.rows]
    primary = set(comparison.primary)
    yield from _measures(
        comparison,
        [
            row
            for row in rows
            if (row.filter != FLEXIBLE if row.filter != RANKING else (row.task, row.metric, row.filter) in primary)
        ],
    )


def brief(comparison: Comparison) -> Iterator[Table]:
    """Yield the tables of the primary measures."""
    rows = [*comparison.means, *comparison.rows]
    primary = set(comparison.primary)
    yield from _measures(comparison, [row for row in rows if (row.task, row.metric, row.filter) in primary])


def footnotes(comparison: Comparison) -> list[str]:
    """Return the notes below the tables, without duplicates."""
    shown = [*comparison.means, *comparison.rows]
    found: dict[str, None] = {}
    for sign, about, attribute in (
        ("†", "", "incomplete"),
        ("–", " not compared with {}", "why_not"),
        ("*", " against {}", "notes"),
    ):
        # A mean repeats the reasons of its tasks, and often all models have the same ones.
        models: dict[tuple[str, str], dict[str, None]] = {}
        for row in shown:
            for reason in getattr(row, attribute):
                key = about.format(row.baseline), joined([reason], shared=True)
                models.setdefault(key, {})[row.model] = None
        for (other, text), own in models.items():
            found[f"{sign} {', '.join(own)}{other}: {text}."] = None
    if comparison.family_note is not None and any(pair.family > 1 for pair in comparison.pairs):
        found[sentence(comparison.family_note)] = None
    if measures := [fragment(verdict.measure) for verdict in comparison.verdicts]:
        found[_capitalized(sentence(note("primary", measures="; ".join(measures))))] = None
    return list(found)


def verdict_lines(comparison: Comparison, names: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the verdicts in words: the measure's name, then one line for each sentence.

    Args:
        comparison: the comparison.
        names: shorter names of the models.
    """
    names = names or {}
    for verdict in comparison.verdicts:
        yield f"Verdict ({fragment(verdict.measure)}):"
        for one in verdict.sentences:
            values = tuple(
                (name, _shortened(value, names) if name in ("model", "other", "models") else value)
                for name, value in one.values
            )
            yield f"  {sentence(replace(one, values=values), shared=True)}"


def _shortened(models: Any, names: Mapping[str, str]) -> str:
    return ", ".join(names.get(model, model) for model in str(models).split(", "))


def _capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def _measures(comparison: Comparison, rows: Sequence[Row]) -> Iterator[Table]:
    """Yield a table for each measure, in the order of the rows."""
    for measure in dict.fromkeys((row.task, row.metric, row.filter) for row in rows):
        own = [row for row in rows if (row.task, row.metric, row.filter) == measure]
        task, metric, name = measure
        variant = variant_of_mean(task)
        heading = task if variant is None else f"Mean over the tasks{f' ({variant})' if variant else ''}"
        direction = "" if METRICS[metric].higher_is_better else "lower is better"
        parts = (fragment(column_name(metric, name)), direction, _count(own), _common_chance(own))
        title = " · ".join(filter(None, parts))
        yield _scores(comparison, own, heading, title)


def _count(rows: Sequence[Row]) -> str:
    unit = "groups" if METRICS[rows[0].metric].grouped else "documents"
    sizes = sorted({row.score.n for row in rows})
    return f"{sizes[0]} {unit}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} {unit}"


def _common_chance(rows: Sequence[Row]) -> str:
    levels = {row.chance for row in rows}
    return f"chance {number(levels.pop())}" if len(levels) == 1 and None not in levels else ""


_Columns = list[tuple[str, list[str]]]


def _scores(comparison: Comparison, rows: Sequence[Row], heading: str, title: str) -> Table:
    """Return the table of a measure. Columns that contain no information are left out."""
    columns: _Columns = [
        ("model", [row.model for row in rows]),
        ("score", [number(row.score.value) + (" ≈" if row.above_chance is False else "") for row in rows]),
        ("95% interval", [interval(row.score) for row in rows]),
    ]
    if len({row.score.n for row in rows}) > 1 or any(row.incomplete for row in rows):
        columns.append(("n", [f"{row.score.n} †" if row.incomplete else str(row.score.n) for row in rows]))
    if len({row.chance for row in rows}) > 1:
        columns.append(("chance", [number(row.chance) for row in rows]))
    if sum(bool(row.group) for row in rows) > 2:
        columns.append(("group", [row.group for row in rows]))
    split = len(columns)
    if len(rows) > 1:
        columns += _differences(rows)
    notes = ["≈ not above the chance level"] if any(row.above_chance is False for row in rows) else []
    if any(row.score.low is None for row in rows):
        notes.append(f"no interval: fewer than {FEWEST_CLUSTERS} independent documents or groups in a task")
    lines = [list(line) for line in zip(*(cells for _, cells in columns), strict=True)]
    names = [name for name, _ in columns]
    return Table(heading, title, names, 1, [lines], notes, split if split < len(columns) else None)


def _differences(rows: Sequence[Row]) -> _Columns:
    names = ["diff.", "95% interval", "won", "lost", "p", "p (Holm)"]
    lines = []
    for row in rows:
        found = row.difference
        if row.model == row.baseline:
            line = ["baseline", "", "", "", "", ""]
        elif found is None:
            line = ["–", "", "", "", "", ""]
        else:
            counts = ["" if count is None else str(count) for count in (found.won, found.lost)]
            mark = " *" if row.notes else ""
            ends = interval(found.estimate)
            line = [signed(found.estimate.value) + mark, ends, *counts, p_value(found.p), p_value(row.p_holm)]
        lines.append(line)
    columns = [(name, list(cells)) for name, cells in zip(names, zip(*lines, strict=True), strict=True)]
    # A family of one comparison needs no correction.
    return columns if any(row.pair and row.pair.family > 1 for row in rows) else columns[:-1]


def _by_part(comparison: Comparison, task: str, by: str, slices: Sequence[Slice]) -> Table:
    parts = list(dict.fromkeys(part.part for part in slices))
    first = {part.part: part for part in reversed(slices)}
    head = [
        ["documents", *(str(first[part].score.n) for part in parts)],
        ["chance", *(number(first[part].chance) for part in parts)],
    ]
    found = {(part.model, part.part, part.filter): part.score.value for part in slices}
    models = [model for model in comparison.models if any(part.model == model for part in slices)]
    rows = [[model, *(_both(found, model, part) for part in parts)] for model in models]
    return Table(task, f"exact_match {_BY[by]}, strict / flexible", ["model", *parts], 1, [head, rows])


def _by_prompt(task: str, slices: Sequence[Slice], spreads: Sequence[Spread]) -> Table:
    kinds: dict[str, list[str]] = {}
    for part in slices:
        kind, _, prompt = part.part.partition(".")
        if prompt not in kinds.setdefault(kind, []):
            kinds[kind].append(prompt)
    prompts = sorted({prompt for found in kinds.values() for prompt in found}, key=int)
    found = {(part.model, part.part, part.filter): part.score.value for part in slices}
    spread = {(s.kind, s.model, s.filter): s for s in spreads}
    sections = []
    for kind in kinds:
        rows: list[list[str]] = []
        for model in dict.fromkeys(part.model for part in slices):
            strict = spread.get((kind, model, STRICT))
            last = [number(strict.spread), number(strict.sd), p_value(strict.p)] if strict else ["–", "", ""]
            cells = [_both(found, model, f"{kind}.{prompt}") for prompt in prompts]
            rows.append([kind if not rows else "", model, *cells, *last])
        sections.append(rows)
    columns = ["type", "model", *(f"prompt {prompt}" for prompt in prompts), "spread", "SD", "p"]
    text = (
        "Spread (strict): the best minus the worst prompt. SD: the standard deviation between prompts. Each prompt has "
        "different documents, so scores also vary by chance; p is the probability of at least this spread by chance."
    )
    return Table(task, "exact_match by prompt, strict / flexible", columns, 2, sections, [text])


def _both(found: dict[tuple[str, str, str], float], model: str, part: str) -> str:
    values = [found.get((model, part, name)) for name in (STRICT, FLEXIBLE)]
    return " / ".join("–" if value is None else f"{value:.2f}" for value in values)


def _gaps(comparison: Comparison) -> Iterator[list[str]]:
    for gap in comparison.gaps:
        what = "flexible − strict" if gap.kind == breakdowns.FORMAT else f"open − closed, {gap.filter}"
        yield [gap.model, gap.task, what, signed(gap.value.value), interval(gap.value)]


def show(comparison: Comparison, found: Iterable[Table]) -> None:
    """Print the tables, their notes and the verdicts."""
    terminal = console()
    names = short_names(comparison.models)
    heading = ""
    for table in found:
        if table.heading != heading:
            heading = table.heading
            terminal.rule(cell(heading), align="left", characters="─")
        terminal.print(cell(table.title), style="bold")
        for part in _fitting(_renamed(table, names), terminal.width):
            terminal.print(_rich(part))
        for one in table.notes:
            _wrapped(terminal, one)
            echo("")
    for one in footnotes(comparison):
        _wrapped(terminal, one)
    echo("")
    for line in verdict_lines(comparison, names):
        _wrapped(terminal, line)


def short_names(models: Sequence[str]) -> dict[str, str]:
    """Return a short name for each model.

    The organization is removed, unless two names would become equal. If a name is long, the prefix that all names share
    is replaced by an ellipsis.

    Args:
        models: the labels of the models.
    """
    short = [model.rpartition("/")[2] or model for model in models]
    if len(set(short)) < len(models):
        short = list(models)
    start = re.match(r".*[-_. /]|", os.path.commonprefix(short))  # noqa: RUF071 (of text, not of paths)
    if start and len(models) > 1 and max(map(len, short)) > _LONG:
        short = ["…" + name[len(start[0]) :] if start[0] else name for name in short]
    return dict(zip(models, short, strict=True))


def _wrapped(terminal: Console, text: str) -> None:
    """Print text with its indent, wrapped to the terminal's width. Other outputs get it unwrapped.

    No line breaks inside an interval, or between a number and its unit.
    """
    if terminal.is_terminal:
        indent = " " * (len(text) - len(text.lstrip()))
        kept = _TOGETHER.sub(lambda match: match[0].replace(" ", "\xa0"), text.strip())
        options = {"initial_indent": indent, "subsequent_indent": indent, "break_on_hyphens": False}
        text = textwrap.fill(kept, terminal.width, **options).replace("\xa0", " ")  # type: ignore[arg-type]
    echo(text)


_TOGETHER = re.compile(r"\[[^][]*\]|\b\d[\d.]* (?:points?|bits per byte)|\bp [<=] [\d.]+")


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    sections = [
        [[*(names.get(text, text) for text in row[: table.texts]), *row[table.texts :]] for row in section]
        for section in table.sections
    ]
    return replace(table, sections=sections)


def _fitting(table: Table, width: int) -> list[Table]:
    """Return the table, or two tables with half of the columns each if the table is too wide for the terminal."""
    if table.split is None or _width(table) <= width:
        return [table]
    parts: list[Table] = []
    for columns in (range(table.split), [0, *range(table.split, len(table.columns))]):
        sections = [[[row[index] for index in columns] for row in section] for section in table.sections]
        parts.append(
            Table(table.heading, "" if parts else table.title, [table.columns[index] for index in columns], 1, sections)
        )
    return parts


def _width(table: Table) -> int:
    rows = [table.columns, *(row for section in table.sections for row in section)]
    widths = [max(len(printable(row[index])) for row in rows) for index in range(len(table.columns))]
    names = sum(max(_NAME, min(width, _LONG)) for width in widths[: table.texts])
    return names + sum(widths[table.texts :]) + 2 * len(widths)


def _rich(table: Table) -> RichTable:
    columns = [
        Column(
            cell(name),
            justify="left" if index < table.texts else "right",
            overflow="fold",
            no_wrap=index >= table.texts,
        )
        for index, name in enumerate(table.columns)
    ]
    shown = RichTable(*columns, box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    for section in table.sections:
        for row in section:
            shown.add_row(*map(cell, row))
        shown.add_section()
    return shown
