"""Define the commands `mera-ru data check`, `fetch` and `show`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mera_ru_tasks.issues import shortened
from mera_ru_tasks.textutil import cell, console, echo, plural

if TYPE_CHECKING:
    from mera_ru_tasks.data.lint import Report
    from mera_ru_tasks.issues import Issue

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Check, fetch and show benchmark data.")


class Format(str, Enum):
    """The format of a report."""

    table = "table"
    json = "json"


@app.command()
def check(
    target: Annotated[
        str,
        typer.Argument(
            metavar="PATH|BENCHMARK",
            show_default=False,
            help="A data folder, the folder of one benchmark, the YAML file of a custom task, or the name of a "
            "benchmark or task. For a name, the data come from MERA_RU_DATA if it is set, otherwise from the hub.",
        ),
    ],
    benchmark: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The benchmark of the folder PATH, if it cannot be inferred from the folder's name."
        ),
    ] = None,
    format: Annotated[Format, typer.Option("--format", help="Tables for people, or JSON for programs.")] = Format.table,
    counts: Annotated[
        bool, typer.Option("--counts", help="Show statistics of the data even if there are no issues.")
    ] = False,
) -> None:
    """Check every row of the data, and show statistics.

    All issues are listed. Errors stop a run, and they set the exit status of this command to 1. Warnings do not stop a
    run. If there are no issues, one line is printed.

    \b
    Examples:
      mera-ru data check ~/mera-data
      mera-ru data check ~/mera-data/RussianRegions --format json
      mera-ru data check riddles_closed
      mera-ru data check my_tasks/city_quiz.yaml
    """  # noqa: D301 (\b tells click not to rewrap the block)
    from mera_ru_tasks.data.lint import check_data
    from mera_ru_tasks.data.load import find_sources
    from mera_ru_tasks.issues import errors

    reports = [check_data(source) for source in find_sources(target, benchmark)]
    if format is Format.json:
        print(json.dumps([report.as_json() for report in reports], ensure_ascii=True, indent=2))
    else:
        for report in reports:
            _print(report, counts=counts)
    if any(errors(report.issues) for report in reports):
        raise typer.Exit(1)


@app.command()
def fetch(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", show_default=False, help="The benchmark's name.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The data folder to save to.", show_default=False)
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            envvar="MERA_RU_REVISION",
            help="A branch, tag or commit of the hub dataset. By default, the newest commit is used.",
        ),
    ] = None,
) -> None:
    """Download a hub dataset to a folder, for use on offline machines.

    The files have the authors' layout. dataset_meta.json contains the revision. SHA256SUMS contains checksums, which
    `mera-ru data check` verifies.

    \b
    Examples:
      mera-ru data fetch enantiosemy -o mera-data
      MERA_RU_DATA=mera-data lm_eval --model hf --model_args pretrained=MODEL --tasks enantiosemy
    """  # noqa: D301
    from mera_ru_tasks.data.hub import fetch as save
    from mera_ru_tasks.data.hub import to_fetch

    saved = save(to_fetch(benchmark), output, revision)
    rows = ", ".join(f"{count} {plural(count, 'row', 'rows')} in {split}" for split, count in saved.rows.items())
    echo(f"Saved revision {saved.revision} to {saved.folder}: {rows}.")
    for name, digest in saved.checksums.items():
        echo(f"{digest}  {name}")
    echo(f"To run on these data, set MERA_RU_DATA={output}. To check them, run: mera-ru data check {saved.folder}")


@app.command()
def show(
    benchmark: Annotated[
        str,
        typer.Argument(
            metavar="BENCHMARK",
            show_default=False,
            help="The name of a benchmark or task, or the YAML file of a custom task. For example, "
            "enantiosemy_sample_prefill shows the sample data with the prefilled marker.",
        ),
    ],
    identity: Annotated[
        int | None,
        typer.Option("--id", metavar="N", help="The document's id. By default, the first test document is shown."),
    ] = None,
    response: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A response from which to extract the answer, and to score.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", envvar="MERA_RU_DATA", help="The data folder. By default, the hub dataset is used."
        ),
    ] = None,
) -> None:
    """Show a document as it appears in a run.

    The output contains the rendered prompt and the reference answer. With --response, it also contains the extracted
    answers and the scores.

    \b
    Examples:
      mera-ru data show enantiosemy_sample --id 7
      mera-ru data show riddles_closed --data ~/mera-data --response "Думаю, это снег. Ответ: **снег**"
    """  # noqa: D301
    from mera_ru_tasks.data.load import find_document
    from mera_ru_tasks.harness.prompt import render
    from mera_ru_tasks.scoring.score import score_response
    from mera_ru_tasks.scoring.strict import MARKER, candidates

    doc, variants = find_document(benchmark, identity, data=data)
    prefix = MARKER if "prefill" in variants else ""
    meta = {name: value for name, value in doc["meta"].items() if value is not None}
    _section("meta", ", ".join(f"{name} {value}" for name, value in meta.items()))
    _section("prompt", render(doc, prefix))
    _section("reference", doc["outputs"].strip() or "(closed, so the document gets no score)")
    if response is not None:
        scores = score_response(doc, response, prefix=prefix)
        _section("response", response)
        found = scores.extraction
        _section("strict-match answers", "\n".join(map(repr, candidates(response))))
        _section("strict-match scores", _scores(scores.strict))
        _section("flexible-extract answer", repr(found.answer) if found.answer else "no unambiguous answer")
        _section("flexible-extract reason", f"{found.code}: {found.clause!r}" if found.clause else found.code)
        _section("flexible-extract scores", _scores(scores.flexible))


def _section(title: str, text: str) -> None:
    echo(f"--- {title} ---\n{text}\n")


def _scores(scores: Mapping[str, Any]) -> str:
    plain = {name: value for name, value in scores.items() if isinstance(value, (int, float))}
    return ", ".join(f"{name} {value:g}" for name, value in plain.items()) or "none, because there is no reference"


def _print(report: Report, *, counts: bool) -> None:
    if not report.issues and not counts:
        sizes = ", ".join(f"{split} {rows}" for split, rows in report.statistics["rows"].items())
        echo(f"{report.source.benchmark.title} in {report.source.location}: no errors, no warnings; rows: {sizes}")
        return
    echo(f"\n{report.source.benchmark.title} in {report.source.location}")
    if report.statistics:
        _print_statistics(report.statistics)
    for severity in ("error", "warning"):
        issues = [issue for issue in report.issues if issue.severity == severity]
        echo(f"{len(issues) or 'no'} {severity}{'' if len(issues) == 1 else 's'}")
        _print_issues(shortened(issues))


def _print_issues(issues: Sequence[Issue]) -> None:
    from rich.table import Table

    from mera_ru_tasks.issues import Location

    by_file: dict[str, list[tuple[Location, Issue]]] = {}
    for issue in issues:
        if issue.code == "unreadable":  # the message is sufficient
            echo(f"- {issue.message}")
        elif isinstance(issue.location, Location):
            by_file.setdefault(issue.location.file, []).append((issue.location, issue))
    for file, here in by_file.items():
        table = Table(title=cell(file), title_justify="left", show_lines=True)
        for column in ("row", "id", "field", "issue", "hint"):
            table.add_column(column, overflow="fold")
        for at, issue in here:
            more = f" and {issue.count - 1} more" if issue.count > 1 else ""
            row = "" if at.row is None else f"{at.row}{more}"
            table.add_row(*map(cell, (row, "" if at.id is None else at.id, at.field, issue.message, issue.hint)))
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
    invalid = {split: f" (and {n - rows[split]} invalid)" for split, n in stored.items() if n > rows[split]}
    lines = [
        (
            "rows",
            "; ".join(
                f"{split}: {rows[split]}{invalid.get(split, '')}, of which {closed[split]} have no reference"
                for split in rows
            ),
        )
    ]
    for kind, sizes in statistics["types"].items():
        name = "test set" if kind == "all" else f"type {kind}"
        lines.append((name, f"test: {sizes['test']} (data card: {sizes['card']}); shots: {sizes['shots']}"))
    lines += [
        (f"{title} ({answers_of})", _counts(statistics[name]))
        for name, title in (("letters", "correct letters"), ("answers", "rows by number of answers"))
        if any(statistics.get(name, {}).values())
    ]
    if "groups" in statistics:
        lines.append(("groups by size", _counts(statistics["groups"])))
    for kind, counts in statistics["prompts"].items():
        name = "rows per prompt" + ("" if kind == "all" else f", type {kind}")
        lines.append((name, ", ".join(map(str, counts[:12])) + (", …" if len(counts) > 12 else "")))
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name}: {count}" for name, count in counts.items()) or "none"
