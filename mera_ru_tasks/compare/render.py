"""Render a comparison as tables of text, which the terminal and Markdown share; print them in the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Column
from rich.table import Table as RichTable

from mera_ru_tasks.compare import breakdowns
from mera_ru_tasks.compare.breakdowns import Slice, Spread
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.compare.results import MEAN, Row
from mera_ru_tasks.compare.stats import Estimate
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT
from mera_ru_tasks.textutil import cell, console, say

_BY = {
    breakdowns.TYPE: "by type",
    breakdowns.LETTERS: "by number of right letters",
    breakdowns.ANSWERS: "by number of accepted answers",
}


@dataclass(frozen=True)
class Table:
    """A table of text.

    Attributes:
        title: its title.
        columns: the columns' names.
        texts: the number of text columns at the left; the other columns hold numbers.
        sections: the rows, in groups separated by a line.
        notes: the sentences below it.
    """

    title: str
    columns: Sequence[str]
    texts: int
    sections: Sequence[Sequence[Sequence[str]]]
    notes: Sequence[str]


def number(value: float | None) -> str:
    """Format a score with three decimals."""
    return "–" if value is None else f"{value:.3f}"


def signed(value: float) -> str:
    """Format a difference with its sign."""
    return f"{value:+.3f}".replace("-", "−")


def p_value(value: float | None) -> str:
    """Format a p-value."""
    return "" if value is None else "<0.001" if value < 0.001 else f"{value:.3f}"


def interval(estimate: Estimate) -> str:
    """Format an interval in brackets."""
    return f"[{number(estimate.low)}, {number(estimate.high)}]".replace("-", "−")


def tables(comparison: Comparison) -> Iterator[Table]:
    """Yield all tables, the means over tasks first."""
    yield from _means(comparison)
    yield from _tasks(comparison)
    if gaps := list(_gaps(comparison)):
        yield Table(
            "Within each model", ["task", "difference", "model", "value", "95% interval"], 3, [gaps],
            ["Flexible − strict: what the format hides. Open − closed: a hint that riddles were memorised."],
        )  # fmt: skip
    for task in comparison.tasks:
        slices = [part for part in comparison.slices if part.task == task]
        for by in dict.fromkeys(part.by for part in slices):
            chosen = [part for part in slices if part.by == by]
            if by == breakdowns.PROMPT:
                yield _by_prompt(task, chosen, [s for s in comparison.spreads if s.task == task])
            else:
                yield _by_part(comparison, task, by, chosen)


def brief(comparison: Comparison) -> list[Table]:
    """Return the tables of the means over tasks, or those of the tasks if there is no mean."""
    return list(_means(comparison)) or list(_tasks(comparison))


def _means(comparison: Comparison) -> Iterator[Table]:
    for name in dict.fromkeys(row.task for row in comparison.means):
        rows = [row for row in comparison.means if row.task == name]
        yield _scores(comparison, rows, f"{_title_of_mean(name)} · {_count(rows)}")


def _tasks(comparison: Comparison) -> Iterator[Table]:
    for task in comparison.tasks:
        if rows := [row for row in comparison.rows if row.task == task]:
            yield _scores(comparison, rows, f"{task} · {_count(rows)}")


def _title_of_mean(name: str) -> str:
    variants = name.removeprefix(MEAN).strip()
    return f"Mean over the tasks{f' ({variants})' if variants else ''}"


def _count(rows: Sequence[Row]) -> str:
    sizes = sorted({row.score.n for row in rows if not METRICS[row.metric].grouped})
    return f"{sizes[0]} documents" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]} documents" if sizes else ""


def _scores(comparison: Comparison, rows: Sequence[Row], title: str) -> Table:
    sections: dict[tuple[str, str], list[list[str]]] = {}
    notes: dict[str, None] = {}
    with_difference = comparison.baseline is not None
    for row in rows:
        section = sections.setdefault((row.metric, row.filter), [])
        cells = [
            *((row.metric, row.filter) if not section else ("", "")),
            row.model,
            number(row.score.value),
            interval(row.score),
            f"{row.score.n} †" if row.incomplete else str(row.score.n),
            number(row.chance),
        ]
        if row.incomplete:
            notes[f"† {row.model}: {joined(row.incomplete, shared=True)}."] = None
        section.append(cells + (_difference(row, notes, comparison.baseline) if with_difference else []))
    columns = ["metric", "filter", "model", "score", "95% interval", "n", "chance"]
    if with_difference:
        columns += ["difference", "95% interval", "p", "p (Holm)"]
    return Table(title, columns, 3, list(sections.values()), list(notes))


def _difference(row: Row, notes: dict[str, None], baseline: str | None) -> list[str]:
    if row.model == baseline:
        return ["baseline", "", "", ""]
    if row.difference is None:
        if row.why_not:
            notes[f"{row.model} is not compared with {baseline}: {joined(row.why_not, shared=True)}."] = None
        return ["–", "", "", ""]
    mark = ""
    if row.notes:
        mark = " *"
        notes[f"* {row.model} against {baseline}: {joined(row.notes, shared=True)}."] = None
    found = row.difference
    return [signed(found.estimate.value) + mark, interval(found.estimate), p_value(found.p), p_value(row.p_holm)]


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
    return Table(f"{task}, exact_match {_BY[by]}, strict / flexible", ["model", *parts], 1, [head, rows], [])


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
            last = [number(strict.spread), p_value(strict.p)] if strict else ["–", ""]
            cells = [_both(found, model, f"{kind}.{prompt}") for prompt in prompts]
            rows.append([kind if not rows else "", model, *cells, *last])
        sections.append(rows)
    columns = ["type", "model", *(f"prompt {prompt}" for prompt in prompts), "spread", "p"]
    note = (
        "Spread (strict): best minus worst prompt. Prompts have other documents, so chance spreads scores too: see p."
    )
    return Table(f"{task}, exact_match by prompt, strict / flexible", columns, 2, sections, [note])


def _both(found: dict[tuple[str, str, str], float], model: str, part: str) -> str:
    values = [found.get((model, part, name)) for name in (STRICT, FLEXIBLE)]
    return " / ".join("–" if value is None else f"{value:.2f}" for value in values)


def _gaps(comparison: Comparison) -> Iterator[list[str]]:
    for gap in comparison.gaps:
        what = "flexible − strict" if gap.kind == breakdowns.FORMAT else f"open − closed, {gap.filter}"
        yield [gap.task, what, gap.model, signed(gap.value.value), interval(gap.value)]


def show(tables: Iterable[Table]) -> None:
    """Print tables to standard output."""
    terminal = console()
    for table in tables:
        terminal.print(_rich(table))
        for note in table.notes:
            say(note)
        say("")


def _rich(table: Table) -> RichTable:
    columns = [
        Column(cell(name), justify="left" if place < table.texts else "right", overflow="fold")
        for place, name in enumerate(table.columns)
    ]
    shown = RichTable(*columns, title=cell(table.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for section in table.sections:
        for row in section:
            shown.add_row(*map(cell, row))
        shown.add_section()
    return shown
