"""`mera-ru compare`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.cli.arguments import require_new
from mera_ru_tasks.outputs import write_whole
from mera_ru_tasks.textutil import encodable, printable, say

if TYPE_CHECKING:
    from mera_ru_tasks.compare.compare import Comparison


class Format(str, Enum):
    """How a comparison is shown."""

    table = "table"
    markdown = "markdown"
    csv = "csv"
    json = "json"
    latex = "latex"
    html = "html"


_BY_ENDING = {
    ".html": Format.html,
    ".htm": Format.html,
    ".md": Format.markdown,
    ".tex": Format.latex,
    ".csv": Format.csv,
    ".json": Format.json,
}


def compare(
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="[NAME=]RUN",
            show_default=False,
            help="lm-eval's output folders, models' folders in them, or log files. The newest log of each model and "
            "task is taken. NAME tells runs of one model apart, such as two checkpoints.",
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare the other models with this one only; default: compare all pairs, and mark models that cannot "
            "be told apart by a common letter.",
        ),
    ] = None,
    form: Annotated[
        Format | None, typer.Option("--format", help="Default: what FILE's ending says, else table.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="A new file to write to; the terminal then shows the primary measures.",
        ),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A folder for the report's plots, as PNG and SVG.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Also show flexible-extract, every metric, and breakdowns by type and prompt."),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="M",
            help="Call models equal if the interval of their difference lies within ±M, such as 0.02.",
        ),
    ] = None,
    pool: Annotated[
        bool,
        typer.Option(
            "--pool",
            help="Make one row of all runs of a model with the same settings; default: only of runs with different "
            "sampling seeds, and otherwise the newest run.",
        ),
    ] = False,
    published: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="CSV",
            exists=True,
            dir_okay=False,
            show_default=False,
            help="Published scores to compare with: a CSV file with the columns model, task, metric, score and n.",
        ),
    ] = None,
    across_settings: Annotated[
        bool,
        typer.Option(
            "--across-settings",
            help="Also compare prefilled with plain runs, and runs with other prompts, shots, versions or limits, on "
            "the documents that both have; the tables mark it.",
        ),
    ] = False,
) -> None:
    """Compare models by their runs: scores, intervals, paired differences, and a report.

    The runs must be made with --log_samples and --output_path. Differences are paired document by document (Bonett and
    Price's interval and its test), with Holm's correction over the compared pairs of models.

    \b
    Examples:
      mera-ru compare results
      mera-ru compare results --all
      mera-ru compare results --baseline EleutherAI/pythia-1.4b --margin 0.02 -o report.html
      mera-ru compare results --format csv -o comparison.csv --plots plots
      mera-ru compare thinking=results/a plain=results/b
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    if form is None:
        form = _BY_ENDING.get(output.suffix.lower(), Format.table) if output else Format.table
    if form is Format.html and output is None:
        raise typer.BadParameter("name the report's file with -o", param_hint="--format html")
    if form is Format.table and output is not None:
        raise typer.BadParameter(
            "the table is for the terminal; end FILE in .md, .csv, .json, .tex or .html, or name a --format",
            param_hint="--output",
        )
    if output is not None and _BY_ENDING.get(output.suffix.lower(), form) is not form:
        raise typer.BadParameter(f"{output} would not hold {form.value}; let its ending say so", param_hint="--format")
    if output is not None:
        require_new(output, force=force)
    if plots is not None:
        from mera_ru_tasks.compare.html.plots import require_matplotlib

        require_matplotlib()
    from mera_ru_tasks.compare.compare import compare_runs

    names, paths = _named(run)
    comparison = compare_runs(
        paths,
        names=names,
        baseline=baseline,
        across_settings=across_settings,
        margin=margin,
        pool=pool,
        published=published or (),
    )
    _say_choices(comparison)
    _write(comparison, form, output, everything=everything, force=force)
    if plots is not None:
        from mera_ru_tasks.compare.html.plots import write_plots

        _note(f"Wrote {len(write_plots(comparison, plots))} files of plots into {plots}.")


def _named(runs: Sequence[Path]) -> tuple[dict[Path, str], list[Path]]:
    """Take `NAME=RUN` apart; what exists as it stands is a path."""
    names: dict[Path, str] = {}
    paths = []
    for run in runs:
        name, equals, rest = str(run).partition("=")
        path = Path(rest) if name and equals and rest and not run.exists() else run
        if path is not run and names.setdefault(path, name) != name:
            raise typer.BadParameter(f"{path} is named both {names[path]} and {name}", param_hint="RUN")
        paths.append(path)
    return names, paths


def _say_choices(comparison: Comparison) -> None:
    for choice in comparison.choices:
        _note(str(choice))
    for problem in comparison.problems:
        _note(f"Note: {problem}")


def _write(comparison: Comparison, form: Format, output: Path | None, *, everything: bool, force: bool) -> None:
    from mera_ru_tasks.compare import render

    if form is Format.table:
        render.show(comparison, (render.tables if everything else render.main_tables)(comparison))
        if not everything:
            _note("More with --all: flexible-extract, every metric, breakdowns by type and prompt.")
        return
    if output is not None:
        render.show(comparison, (render.tables if everything else render.brief)(comparison))
    text = _text(comparison, form)
    if output is None:
        say(text.rstrip("\n"))
        return
    write_whole(output, encodable(text).encode(), replace=force)
    _note(f"Wrote {output}.")


def _text(comparison: Comparison, form: Format) -> str:
    from mera_ru_tasks.compare import export

    if form is Format.html:
        from mera_ru_tasks.compare.html.page import build

        return build(comparison)
    writers = {
        Format.markdown: export.to_markdown,
        Format.csv: export.to_csv,
        Format.json: export.to_json,
        Format.latex: export.to_latex,
    }
    return writers[form](comparison)


def _note(text: str) -> None:
    """Tell something beside the result, which may go down a pipe."""
    print(printable(text), file=sys.stderr)
