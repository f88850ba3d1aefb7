"""`mera-ru data check`, `fetch` and `show`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mera_ru_tasks.textutil import cell, console, say

if TYPE_CHECKING:
    from mera_ru_tasks.data.findings import Finding
    from mera_ru_tasks.data.report import Report

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check, fetch and show the benchmarks' data.")


class Format(str, Enum):
    """In which form a report is printed."""

    table = "table"
    json = "json"


@app.command()
def check(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PATH|BENCHMARK",
            show_default=False,
            help="A data folder, one benchmark's folder, the YAML file of a task on your own dataset, or a benchmark "
            "or task by its name (whose data are found as a run finds them: MERA_RU_DATA, else the hub).",
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Which benchmark the folder PATH is of, where its name does not say."),
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="For people or for machines.")] = Format.table,
) -> None:
    """Check every row, and count what is there.

    Every problem is listed, not only the first. Problems are what a run would stop at; the exit status is then 1.
    Warnings are what looks wrong.

    \b
    Examples:
      mera-ru data check ~/mera-data
      mera-ru data check ~/mera-data/RussianRegions --format json
      mera-ru data check riddles_closed
      mera-ru data check my_tasks/city_quiz.yaml
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.data.report import look_over
    from mera_ru_tasks.data.sources import sources

    reports = [look_over(source) for source in sources(target, benchmark)]
    if format is Format.json:
        print(json.dumps([report.as_json() for report in reports], ensure_ascii=True, indent=2))
    else:
        for report in reports:
            _print(report)
    if any(report.problems for report in reports):
        raise typer.Exit(1)


@app.command()
def fetch(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", show_default=False, help="The benchmark's name.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The data folder to save it in.", show_default=False)
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="MERA_RU_REVISION",
            help="A branch, tag or commit of the hub dataset; default: the newest.",
        ),
    ] = None,
) -> None:
    """Save a hub dataset for offline machines.

    It is saved in the authors' layout. The revision stands in dataset_meta.json, the files' checksums in SHA256SUMS;
    `mera-ru data check` compares them.

    \b
    Examples:
      mera-ru data fetch enantiosemy -o mera-data
      MERA_RU_DATA=mera-data lm_eval --model hf --model_args pretrained=MODEL --tasks enantiosemy
    """  # noqa: D301
    from mera_ru_tasks.data.fetch import fetch as save
    from mera_ru_tasks.data.fetch import to_fetch

    saved = save(to_fetch(benchmark), output, revision)
    rows = ", ".join(f"{count} rows in {split}" for split, count in saved.rows.items())
    say(f"Saved {saved.folder}: {rows}, revision {saved.revision}.")
    for name, digest in saved.checksums.items():
        say(f"{digest}  {name}")
    say(f"To run on it: MERA_RU_DATA={output}. To check it: mera-ru data check {saved.folder}")


@app.command()
def show(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            show_default=False,
            help="A benchmark's or a task's name, or the YAML file of a task on your own dataset; "
            "enantiosemy_sample_prefill shows the shipped data with the marker.",
        ),
    ],
    identity: Annotated[
        int | None, typer.Option("--id", metavar="N", help="The document's id; default: the first of the test.")
    ] = None,
    response: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A model's response, to see how it is read and scored.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", envvar="MERA_RU_DATA", help="The data folder; default: the hub dataset."),
    ] = None,
) -> None:
    """Show a document as a run sees it.

    That is the rendered prompt, the reference and, with --response, how a model's response is read and scored.

    \b
    Examples:
      mera-ru data show enantiosemy_sample --id 7
      mera-ru data show riddles_closed --data ~/mera-data --response "Думаю, это снег. Ответ: **снег**"
    """  # noqa: D301
    from mera_ru_tasks.data import document

    shown = document.show(benchmark, identity, data=data)
    meta = {name: value for name, value in shown.doc["meta"].items() if value is not None}
    _section("meta", ", ".join(f"{name} {value}" for name, value in meta.items()))
    _section("prompt", shown.prompt)
    _section("reference", shown.reference or "(closed: the document gets no score)")
    if response is not None:
        read = document.read(shown, response)
        _section("response", response)
        _section("strict-match reads", "\n".join(map(repr, read.strict)))
        _section("strict-match scores", _scores(read.strict_scores))
        _section("flexible-extract reads", repr(read.flexible) if read.flexible else "nothing that is unmistakable")
        _section("flexible-extract scores", _scores(read.flexible_scores))


def _section(title: str, text: str) -> None:
    say(f"--- {title} ---\n{text}\n")


def _scores(scores: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return ", ".join(f"{name} {value:g}" for name, value in plain.items()) or "none, for want of a reference"


def _print(report: Report) -> None:
    title = f"{report.source.benchmark.title} in {report.source.place}"
    say(f"\n{title}")
    if report.statistics:
        _print_statistics(report.statistics)
    for name, findings in (("problem", report.problems), ("warning", report.warnings)):
        say(f"{len(findings) or 'no'} {name}{'' if len(findings) == 1 else 's'}")
        if findings:
            _print_findings(findings)


def _print_findings(findings: Sequence[Finding]) -> None:
    from rich.table import Table

    by_place: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.row is None and not finding.field and not finding.remedy:  # a file that cannot be read says it all
            say(f"- {finding.what}")
        else:
            by_place.setdefault(finding.place, []).append(finding)
    for place, here in by_place.items():
        table = Table(title=cell(place), title_justify="left", show_lines=True)
        for column in ("row", "id", "field", "what is wrong", "remedy"):
            table.add_column(column, overflow="fold")
        for finding in here:
            more = f" and {finding.rows - 1} more" if finding.rows > 1 else ""
            row = "" if finding.row is None else f"{finding.row}{more}"
            identity = "" if finding.id is None else finding.id
            table.add_row(*map(cell, (row, identity, finding.field, finding.what, finding.remedy)))
        console().print(table)


def _print_statistics(statistics: Mapping[str, Any]) -> None:
    from rich.table import Table

    table = Table(show_header=False)
    for name, text in _statistics_lines(statistics):
        table.add_row(cell(name), cell(text))
    console().print(table)


def _statistics_lines(statistics: Mapping[str, Any]) -> list[tuple[str, str]]:
    rows, closed, stored = statistics["rows"], statistics["closed"], statistics["stored"]
    answers_of = statistics["answers_of"]
    faulty = {split: f" (and {stored[split] - rows[split]} with problems)" for split in stored}
    faulty = {split: text for split, text in faulty.items() if stored[split] > rows[split]}
    lines = [
        (
            "rows",
            "; ".join(
                f"{split} {rows[split]}{faulty.get(split, '')}, without a reference {closed[split]}" for split in rows
            ),
        )
    ]
    for kind, sizes in statistics["types"].items():
        name = "test set" if kind == "all" else f"type {kind}"
        lines.append((name, f"test {sizes['test']}, by the card {sizes['card']}; shots {sizes['shots']}"))
    lines += [
        (f"{title} ({answers_of})", _counts(statistics[name]))
        for name, title in (("letters", "right letters"), ("answers", "rows by number of answers"))
        if any(statistics.get(name, {}).values())
    ]
    if "groups" in statistics:
        lines.append(("groups by size", _counts(statistics["groups"])))
    for kind, counts in statistics["prompts"].items():
        name = "rows of each prompt" + ("" if kind == "all" else f", type {kind}")
        lines.append((name, ", ".join(map(str, counts[:12])) + (", …" if len(counts) > 12 else "")))
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"
