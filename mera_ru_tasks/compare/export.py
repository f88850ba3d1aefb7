"""Export a comparison as JSON, CSV and Markdown."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from mera_ru_tasks import __version__
from mera_ru_tasks.compare.breakdowns import Slice
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.notes import fragment, joined, sentence
from mera_ru_tasks.compare.render import Table, tables
from mera_ru_tasks.compare.results import Row
from mera_ru_tasks.compare.stats import LEVEL, Estimate
from mera_ru_tasks.textutil import in_json


def to_data(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data for JSON. No text in it names a folder of the user's machine."""
    return {
        "made_by": f"mera-ru-tasks {__version__}",
        "level": LEVEL,
        "baseline": comparison.baseline,
        "models": [
            {
                "label": model,
                "runs": [
                    {
                        "task": entry.task,
                        "logged_task": entry.log.task,
                        "model_name": entry.log.run.model,
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
        "means": [_row(row) for row in comparison.means],
        "scores": [_row(row) for row in comparison.rows],
        "breakdowns": [_slice(part) for part in comparison.slices],
        "prompts": [
            {"task": task, "part": part, "template": template}
            for task, part, template in dict.fromkeys(
                (part.task, part.part, part.detail) for part in comparison.slices if part.detail
            )
        ],
        "prompt_spread": [_fields(part) for part in comparison.spreads],
        "gaps": [{**_fields(gap), "value": _estimate(gap.value)} for gap in comparison.gaps],
        "choices": [sentence(one, shared=True) for one in comparison.choices],
        "problems": [sentence(one, shared=True) for one in comparison.problems],
    }


def _row(row: Row) -> dict[str, Any]:
    found = row.difference
    return {
        "task": row.task,
        "metric": row.metric,
        "pipeline": row.filter,
        "model": row.model,
        "score": _estimate(row.score),
        "chance": row.chance,
        "incomplete": [fragment(one, shared=True) for one in row.incomplete],
        "difference": {**_estimate(found.estimate), "p": found.p, "p_holm": row.p_holm, "test": found.test}
        if found
        else None,
        "judge": row.judge,
        "why_not": joined(row.why_not, shared=True),
        "remarks": [fragment(one, shared=True) for one in row.notes],
    }


def _slice(part: Slice) -> dict[str, Any]:
    """Return a slice without the template of its prompt, which many slices share."""
    fields = {**_fields(part), "score": _estimate(part.score)}
    del fields["detail"]
    return fields


def _fields(part: Any) -> dict[str, Any]:
    return {"pipeline" if name == "filter" else name: value for name, value in asdict(part).items()}


def _estimate(estimate: Estimate) -> dict[str, Any]:
    return asdict(estimate)


def to_json(comparison: Comparison) -> str:
    """Return a comparison as JSON text."""
    return in_json(json.dumps(to_data(comparison), ensure_ascii=False, indent=2)) + "\n"


_SCORE = ("value", "low", "high", "n", "clusters")
_COLUMNS = (
    "kind", "task", "metric", "pipeline", "part", "model", *_SCORE, "chance", "baseline", "difference",
    "difference_low", "difference_high", "difference_n", "p", "p_holm", "test", "incomplete", "note",
)  # fmt: skip


def to_csv(comparison: Comparison) -> str:
    """Return a comparison as CSV, one line for each number; the column `kind` says what it is."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    for line in _lines(to_data(comparison)):
        writer.writerow({name: _no_formula(value) for name, value in line.items()})
    return stream.getvalue()


def _lines(data: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    for kind in ("means", "scores"):
        for row in data[kind]:
            line = {name: row[name] for name in ("task", "metric", "pipeline", "model", "chance")}
            line |= {"kind": "mean" if kind == "means" else "score", **row["score"], "baseline": data["baseline"]}
            line["incomplete"] = "; ".join(row["incomplete"])
            if found := row["difference"]:
                line |= {"difference": found["value"], "difference_low": found["low"]}
                line |= {"difference_high": found["high"], "difference_n": found["n"]}
                line |= {name: found[name] for name in ("p", "p_holm", "test")}
            yield {**line, "note": "; ".join([row["why_not"]] if row["why_not"] else row["remarks"])}
    for part in data["breakdowns"]:
        line = {name: part[name] for name in ("task", "pipeline", "part", "model", "chance")}
        yield {"kind": f"by {part['by']}", "metric": "exact_match", **line, **part["score"]}
    for spread in data["prompt_spread"]:
        line = {name: spread[name] for name in ("task", "pipeline", "model", "p")}
        yield {
            "kind": "prompt spread",
            "metric": "exact_match",
            "part": spread["kind"],
            **line,
            "value": spread["spread"],
        }
    for gap in data["gaps"]:
        line = {name: gap[name] for name in ("task", "pipeline", "model")}
        yield {"kind": gap["kind"], "metric": "exact_match", **line, **gap["value"]}


def _no_formula(value: Any) -> Any:
    """Keep spreadsheets from running a hostile name as a formula."""
    return f"'{value}" if isinstance(value, str) and value.lstrip()[:1] in tuple("=+-@") else value


def to_markdown(comparison: Comparison) -> str:
    """Return a comparison as Markdown tables."""
    parts = [_markdown(table) for table in tables(comparison)]
    remarks = (*comparison.choices, *comparison.problems)
    notes = [f"- {_escaped(sentence(one, shared=True))}" for one in remarks]
    return "\n\n".join([*parts, "### Runs", "\n".join(notes)]) + "\n"


def _markdown(table: Table) -> str:
    align = ["---"] * table.texts + ["---:"] * (len(table.columns) - table.texts)
    rows = [table.columns, align, *(row for section in table.sections for row in section)]
    lines = [f"### {_escaped(table.title)}", ""]
    lines += ["| " + " | ".join(cell if row is align else _escaped(cell) for cell in row) + " |" for row in rows]
    return "\n".join([*lines, *(f"\n{_escaped(note)}" for note in table.notes)])


def _escaped(text: str) -> str:
    """Escape text for a Markdown table: no markup, no HTML, no new cell or line."""
    return re.sub(r"([\\`*_{}\[\]<>|#~&])", r"\\\1", " ".join(text.split()))
