"""Define the commands `mera-ru compare` and `mera-ru power`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.paths import require_new, write_whole
from mera_ru_tasks.textutil import echo, encodable, plural, printable

if TYPE_CHECKING:
    from mera_ru_tasks.compare.compare import Comparison
    from mera_ru_tasks.compare.power import Size


class Format(str, Enum):
    """The output format of a comparison."""

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


def _share(lowest: float, highest: float) -> Callable[[str], float]:
    """Return a parser of a share. The texts speak of points, so its message converts a number of points."""

    def share(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is not a number") from None
        if lowest <= value <= highest:
            return value
        hint = f"; write {value / 100:g} for {value:g} points" if lowest <= value / 100 <= highest else ""
        raise typer.BadParameter(f"{value:g} is not a number from {lowest:g} to {highest:g}{hint}")

    return share


def compare(
    run: Annotated[
        list[Path],
        typer.Argument(
            metavar="[NAME=]RUN",
            show_default=False,
            help="lm-eval's output folders, models' folders in them, or log files. The newest log of each model and "
            "task is used. NAME is a label that distinguishes runs of the same model, such as two checkpoints.",
        ),
    ],
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Compare every other model with this one. By default, all pairs are compared, and models without a "
            "detected difference share a letter.",
        ),
    ] = None,
    form: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="The output format. By default, it is inferred from the extension of FILE. Without FILE, it is table.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file to write to. Unless --all is set, the terminal then shows only the primary measures.",
        ),
    ] = None,
    plots: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to save plots in, as PNG and SVG files: one plot for each primary measure and for the "
            "strict exact match of each task. --all adds every metric and breakdown, which makes dozens of files.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--all", help="Also show and plot flexible-extract, every metric, and breakdowns by type and prompt."
        ),
    ] = False,
    margin: Annotated[
        float | None,
        typer.Option(
            parser=_share(0, 1),
            metavar="M",
            help="Regard two models as equal if the confidence interval of their difference lies within ±M, for "
            "example 0.02.",
        ),
    ] = None,
    pool: Annotated[
        bool,
        typer.Option(
            "--pool",
            help="Combine all runs of a model with the same settings into one row. By default, only runs that differ "
            "in their sampling seeds are combined. Otherwise, the newest run is used.",
        ),
    ] = False,
    published: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="CSV",
            exists=True,
            dir_okay=False,
            show_default=False,
            help="A CSV file with published scores to compare with. It has the columns model, task, metric, score and "
            "n.",
        ),
    ] = None,
    across_settings: Annotated[
        bool,
        typer.Option(
            "--across-settings",
            help="Also compare runs of `_prefill` tasks with runs of plain tasks, and runs with different prompts, "
            "shots, versions or limits. They are compared on the documents that they share, and the tables mark them.",
        ),
    ] = False,
) -> None:
    """Compare models by the logs of their runs, with confidence intervals and paired differences.

    The runs need the options --log_samples and --output_path. Differences are paired by document. Their intervals and
    tests are those of Bonett and Price, with Holm's correction for the number of compared pairs of models.

    \b
    Examples:
      mera-ru compare results
      mera-ru compare results --all
      mera-ru compare results --baseline EleutherAI/pythia-1.4b --margin 0.02 -o report.html
      mera-ru compare results --format csv -o comparison.csv --plots plots
      mera-ru compare thinking=results/a plain=results/b
    """  # noqa: D301 (\b tells click not to rewrap the block)
    if form is None:
        form = _BY_ENDING.get(output.suffix.lower(), Format.table) if output else Format.table
    if form is Format.html and output is None:
        raise typer.BadParameter("set the file of the report with -o", param_hint="--format html")
    if form is Format.table and output is not None:
        raise typer.BadParameter(
            "a table cannot be written to a file; use the extension .md, .csv, .json, .tex or .html, or set --format",
            param_hint="--output",
        )
    if output is not None and _BY_ENDING.get(output.suffix.lower(), form) is not form:
        raise typer.BadParameter(
            f"the extension of {output} does not match the format {form.value}; change one of them",
            param_hint="--format",
        )
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
    _print_choices(comparison)
    _write(comparison, form, output, everything=everything, force=force)
    if plots is not None:
        from mera_ru_tasks.compare.html.plots import write_plots

        number = len(write_plots(comparison, plots, everything=everything))
        _note(f"Wrote {number} {plural(number, 'plot file', 'plot files')} to {plots}.")


def _named(runs: Sequence[Path]) -> tuple[dict[Path, str], list[Path]]:
    """Split the arguments `NAME=RUN` into a mapping from paths to names and a list of all paths.

    An argument that is an existing path is not split.
    """
    names: dict[Path, str] = {}
    paths = []
    for run in runs:
        name, equals, rest = str(run).partition("=")
        path = Path(rest) if name and equals and rest and not run.exists() else run
        if path is not run and names.setdefault(path, name) != name:
            raise typer.BadParameter(f"{path} has two names, {names[path]} and {name}", param_hint="RUN")
        paths.append(path)
    return names, paths


def _print_choices(comparison: Comparison) -> None:
    for choice in comparison.choices:
        _note(str(choice))
    for issue in comparison.issues:
        _note(f"Note: {issue}")


def _write(comparison: Comparison, form: Format, output: Path | None, *, everything: bool, force: bool) -> None:
    from mera_ru_tasks.compare import render

    if form is Format.table:
        render.show(comparison, (render.tables if everything else render.main_tables)(comparison))
        if not everything:
            _note("To also show flexible-extract, every metric, and breakdowns by type and prompt, add --all.")
        return
    if output is not None:
        render.show(comparison, (render.tables if everything else render.brief)(comparison))
    text = _text(comparison, form)
    if output is None:
        echo(text.rstrip("\n"))
        return
    write_whole(output, encodable(text).encode(), replace=force)
    _note(f"Wrote {output}.")


def _text(comparison: Comparison, form: Format) -> str:
    from mera_ru_tasks.compare import export

    if form is Format.html:
        from mera_ru_tasks.compare.html import build

        return build(comparison)
    writers = {
        Format.markdown: export.to_markdown,
        Format.csv: export.to_csv,
        Format.json: export.to_json,
        Format.latex: export.to_latex,
    }
    return writers[form](comparison)


def _note(text: str) -> None:
    """Print a message to standard error, because standard output may be piped."""
    print(printable(text), file=sys.stderr)


def power(
    size: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SIZE",
            show_default=False,
            help="The number of documents of each task, such as 500, or 201x3 for 201 groups of 3 documents. "
            "By default, the sizes of the mera_ru tasks are used: 506 500 201x3.",
        ),
    ] = None,
    accuracy: Annotated[
        float,
        typer.Option(parser=_share(0, 0.999), metavar="SHARE", help="The expected accuracy of the worse model."),
    ] = 0.5,
    difference: Annotated[
        float | None,
        typer.Option(
            parser=_share(0.0001, 1),
            metavar="SHARE",
            show_default=False,
            help="A difference to detect, such as 0.03 for 3 points. Its power and the number of documents needed are "
            "also printed.",
        ),
    ] = None,
    agreement: Annotated[
        float,
        typer.Option(
            parser=_share(0, 1),
            metavar="SHARE",
            help="The share of documents on which one model's outcome decides the other's. On the rest, the models are "
            "independent and agree by chance.",
        ),
    ] = 0.5,
    icc: Annotated[
        float,
        typer.Option(
            parser=_share(0, 1), metavar="R", help="The correlation between two documents in a group, from 0 to 1."
        ),
    ] = 0.2,
    comparisons: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="The number of comparisons to correct for, such as 6 for all pairs of 4 models."
        ),
    ] = 1,
) -> None:
    """Estimate the smallest difference between two models that a run can detect.

    A difference is detectable if the comparison has 80% power for it. The compared score is the mean exact match over
    the tasks. With --difference, also estimate the number of documents needed.

    \b
    Examples:
      mera-ru power
      mera-ru power --accuracy 0.3 --difference 0.02
      mera-ru power 60 60 20x3
    """  # noqa: D301 (\b tells click not to rewrap the block)
    from mera_ru_tasks.compare import power as planning

    sizes = [_size(text) for text in size] if size else list(planning.MERA_RU)
    options = {"agreement": agreement, "icc": icc, "comparisons": comparisons}
    subject = f"With {_list(sizes)} documents and an accuracy of {accuracy:g}, a comparison"
    seen = planning.detectable(sizes, accuracy, **options)
    if seen is None:
        echo(f"{subject} cannot detect any difference.")
    else:
        echo(f"{subject} can detect a difference of {100 * seen:.1f} points.")
    if difference is None:
        return
    if difference > 1 - accuracy:
        raise typer.BadParameter(
            f"an accuracy of {accuracy:g} plus a difference of {difference:g} exceeds the highest score, 1",
            param_hint="--difference",
        )
    points = f"{100 * difference:g}"
    found = planning.power(sizes, accuracy, difference, **options)  # type: ignore[arg-type]
    echo(f"The probability of detecting a difference of {points} points is {found:.0%}.")
    enough = planning.needed(sizes, accuracy, difference, **options)
    documents = _list(enough) if enough else "over a thousand times as many"
    echo(f"To detect a difference of {points} points, run {documents} documents.")


def _size(text: str) -> Size:
    from mera_ru_tasks.compare.power import Size
    from mera_ru_tasks.compare.stats import FEWEST_CLUSTERS

    found = re.fullmatch(r"(\d{1,7})(?:[x×](\d{1,2}))?", text)
    if found is None or not int(found[2] or 1):
        raise typer.BadParameter(f"{text!r} is not a size such as 500 or 201x3", param_hint="SIZE")
    if int(found[1]) < FEWEST_CLUSTERS:
        raise typer.BadParameter(
            f"{text} is too small: a verdict needs {FEWEST_CLUSTERS} independent documents or groups", param_hint="SIZE"
        )
    return Size(int(found[1]), int(found[2] or 1))


def _list(sizes: list[Size]) -> str:
    return " + ".join(map(str, sizes))
