"""Export a comparison as JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from mera_ru_tasks import __version__
from mera_ru_tasks.compare.breakdowns import Slice
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.notes import fragment, joined, sentence
from mera_ru_tasks.compare.render import Table, footnotes, main_tables, tables, verdict_lines
from mera_ru_tasks.compare.results import Pair, Row
from mera_ru_tasks.compare.stats import LEVEL
from mera_ru_tasks.scoring.metrics import METRICS
from mera_ru_tasks.secrets import public_name
from mera_ru_tasks.textutil import in_json, printable, strict_json


def to_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for JSON. The data contain no folder names of the user's machine."""
    primary = set(comparison.primary)
    return {
        "made_by": f"mera-ru-tasks {__version__}",
        "level": LEVEL,
        "baseline": comparison.family.baseline,
        "models": [
            {
                "label": model,
                "runs": [
                    {
                        "task": entry.task,
                        "logged_task": entry.log.task,
                        "model_name": public_name(entry.log.run.model),
                        "date": entry.log.run.date,
                        "version": entry.log.version,
                        "num_fewshot": entry.log.num_fewshot,
                        "documents": len(entry.answers),
                        "whole": len(entry.answers) >= entry.size,
                    }
                    for entry in comparison.entries
                    if entry.model == model
                ],
            }
            for model in comparison.models
        ],
        "tasks": [*comparison.tasks],
        "family": sentence(comparison.family_note, shared=True) if comparison.family_note else None,
        "margin": comparison.family.margin,
        "verdicts": [
            {
                "task": verdict.task,
                "metric": verdict.metric,
                "filter": verdict.filter,
                "measure": fragment(verdict.measure),
                "sentences": [{"code": one.code, "text": sentence(one, shared=True)} for one in verdict.sentences],
            }
            for verdict in comparison.verdicts
        ],
        "means": [_row(row, primary) for row in comparison.means],
        "scores": [_row(row, primary) for row in comparison.rows],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        "breakdowns": [_slice(part) for part in comparison.slices],
        "prompts": [
            {"task": task, "part": part, "template": template}
            for task, part, template in dict.fromkeys(
                (part.task, part.part, part.detail) for part in comparison.slices if part.detail
            )
        ],
        "prompt_spread": [asdict(part) for part in comparison.spreads],
        "gaps": [asdict(gap) for gap in comparison.gaps],
        "choices": [sentence(one, shared=True) for one in comparison.choices],
        "problems": [sentence(one, shared=True) for one in comparison.issues],
    }


def _row(row: Row, primary: Collection[tuple[str, str, str]]) -> dict[str, Any]:
    return {
        "task": row.task,
        "metric": row.metric,
        "filter": row.filter,
        "higher_is_better": METRICS[row.metric].higher_is_better,
        "primary": (row.task, row.metric, row.filter) in primary,
        "model": row.model,
        "score": asdict(row.score),
        "chance": row.chance,
        "above_chance": row.above_chance,
        "group": row.group,
        "incomplete": [fragment(one, shared=True) for one in row.incomplete],
        "baseline": row.baseline,
        "difference": _difference(row.pair),
        "judge": row.judge,
        "why_not": joined(row.why_not, shared=True),
        "notes": [fragment(one, shared=True) for one in row.notes],
    }


def _pair(pair: Pair) -> dict[str, Any]:
    return {
        "task": pair.task,
        "metric": pair.metric,
        "filter": pair.filter,
        "model": pair.model,
        "other": pair.other,
        "difference": _difference(pair),
        "verdict": pair.verdict.code if pair.verdict else None,
        "sentence": sentence(pair.verdict, shared=True) if pair.verdict else None,
    }


def _difference(pair: Pair | None) -> dict[str, Any] | None:
    if pair is None or pair.difference is None:
        return None
    found, kept = pair.difference, ("value", "low", "high", "n", "clusters")
    return {
        **{name: getattr(found.estimate, name) for name in kept},
        "p": found.p,
        "p_holm": pair.p_holm,
        "comparisons": pair.family,
        "method": found.method,
        "won": found.won,
        "lost": found.lost,
        "detectable": found.detectable,
    }


def _slice(part: Slice) -> dict[str, Any]:
    """Return a slice without the prompt template, which is exported only once."""
    fields = asdict(part)
    del fields["detail"]
    return fields


def to_json(comparison: Comparison) -> str:
    """Return a comparison as JSON text."""
    return in_json(strict_json(to_data(comparison), indent=2)) + "\n"


_SCORE = ("value", "low", "high", "n", "clusters")
_COLUMNS = (
    "kind", "task", "metric", "filter", "part", "model", *_SCORE, "chance", "above_chance", "group", "baseline",
    "difference", "difference_low", "difference_high", "difference_n", "p", "p_holm", "comparisons", "method", "won",
    "lost", "detectable", "verdict", "incomplete", "note",
)  # fmt: skip


def to_csv(comparison: Comparison) -> str:
    """Return a comparison as CSV, with one line for each result. The column `kind` contains the type of the result."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for line in _lines(to_data(comparison)):
        writer.writerow({name: _no_formula(value) for name, value in line.items()})
    return stream.getvalue()


_DIFFERENCE = ("p", "p_holm", "comparisons", "method", "won", "lost", "detectable")


def _lines(data: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for kind in ("means", "scores"):
        for row in data[kind]:
            line = {
                name: row[name]
                for name in ("task", "metric", "filter", "model", "chance", "above_chance", "group", "baseline")
            }
            line |= {"kind": "mean" if kind == "means" else "score", **_score(row["score"])}
            line |= {"incomplete": "; ".join(row["incomplete"]), **_csv_difference(row["difference"])}
            yield {**line, "note": "; ".join([row["why_not"]] if row["why_not"] else row["notes"])}
    for pair in data["pairs"]:
        line = {name: pair[name] for name in ("task", "metric", "filter", "model", "verdict")}
        yield {"kind": "pair", **line, "baseline": pair["other"], **_csv_difference(pair["difference"])}
    for part in data["breakdowns"]:
        line = {name: part[name] for name in ("task", "filter", "part", "model", "chance")}
        yield {"kind": f"by {part['by']}", "metric": "exact_match", **line, **_score(part["score"])}
    for spread in data["prompt_spread"]:
        line = {name: spread[name] for name in ("task", "filter", "model", "p")}
        line |= {"part": spread["kind"], "value": spread["spread"]}
        yield {"kind": "prompt spread", "metric": "exact_match", **line}
    for gap in data["gaps"]:
        line = {name: gap[name] for name in ("task", "filter", "model")}
        yield {"kind": gap["kind"], "metric": "exact_match", **line, **_score(gap["value"])}


def _score(estimate: Mapping[str, Any]) -> dict[str, Any]:
    return {name: estimate[name] for name in _SCORE}


def _csv_difference(found: Mapping[str, Any] | None) -> dict[str, Any]:
    if found is None:
        return {}
    ends = {"difference": "value", "difference_low": "low", "difference_high": "high", "difference_n": "n"}
    return {**{name: found[key] for name, key in ends.items()}, **{name: found[name] for name in _DIFFERENCE}}


def _no_formula(value: Any) -> Any:
    """Escape text that a spreadsheet would run as a formula."""
    return f"'{value}" if isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@") else value


def to_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown: the verdicts, the tables and the notes."""
    parts = [_markdown_list("Verdict", verdict_lines(comparison))] if comparison.verdicts else []
    heading = ""
    for table in tables(comparison):
        if table.heading != heading:
            heading = table.heading
            parts.append(f"### {_escaped(heading)}")
        parts.append(_markdown(table))
    issues = (*comparison.choices, *comparison.issues)
    parts.append(_markdown_list("Notes", footnotes(comparison)))
    parts.append(_markdown_list("Runs", (sentence(one, shared=True) for one in issues)))
    return "\n\n".join(parts) + "\n"


def _markdown_list(heading: str, lines: Iterable[str]) -> str:
    return "\n".join([f"### {heading}", "", *(f"- {_escaped(line)}" for line in lines)])


def _markdown(table: Table) -> str:
    align = ["---"] * table.texts + ["---:"] * (len(table.columns) - table.texts)
    rows = [table.columns, align, *(row for section in table.sections for row in section)]
    lines = [f"**{_escaped(table.title)}**", ""]
    lines += ["| " + " | ".join(cell if row is align else _escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*lines, *(f"\n{_escaped(one)}" for one in table.notes)])


def _escaped(text: str) -> str:
    """Escape text for a Markdown table so that it contains no markup, HTML, cell separators or line breaks."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(text.split()))


def to_latex(comparison: Comparison) -> str:
    """Return the tables of scores as LaTeX, with one `table` for each measure. They need the booktabs package."""
    lines = ["% \\usepackage{booktabs}", *(f"% {_latex(line)}" for line in verdict_lines(comparison))]
    for table in main_tables(comparison):
        align = "l" * table.texts + "r" * (len(table.columns) - table.texts)
        lines += ["", r"\begin{table}", r"\centering", rf"\caption{{{_latex(f'{table.heading}: {table.title}')}}}"]
        lines += [rf"\begin{{tabular}}{{{align}}}", r"\toprule", _latex_row(table.columns), r"\midrule"]
        lines += [_latex_row(row) for section in table.sections for row in section]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}"]
    return "\n".join([*lines, "", *(f"% {_latex(line)}" for line in footnotes(comparison))]) + "\n"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(_latex, cells)) + r" \\"


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "−": "$-$", "–": "--", "†": r"\dag{}", "≈": r"$\approx$", "·": r"$\cdot$",
    # LaTeX parses a bracket at the start of a line as an argument of the preceding line break.
    "[": "{[}", "]": "{]}",
}  # fmt: skip


def _latex(text: str) -> str:
    """Escape text for LaTeX so that it contains no commands, comments, cell separators or line breaks."""
    return "".join(_LATEX.get(character, character) for character in printable(" ".join(text.split())))
