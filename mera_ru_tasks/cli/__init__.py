"""The command `mera-ru`: one file here for each command, one line below.

A command's file parses and prints; what it does stands in rooms outside, imported inside its function, so that `--help`
and shell completion stay quick. Exit status: 0, 1 for problems found and a user's mistake in files, 2 for one in the
command line.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from mera_ru_tasks import __version__
from mera_ru_tasks.cli import compare, data, judge, path, run, score, submit
from mera_ru_tasks.errors import MeraRuError
from mera_ru_tasks.textutil import printable

app = typer.Typer(
    name="mera-ru",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help keeps the examples' lines and takes half the time: rich would have to load its Markdown parser.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Russian benchmarks of MERA Text 2.0 for lm-evaluation-harness.",
    epilog="The evaluation itself is lm-eval's: `lm_eval --model hf --model_args pretrained=MODEL --tasks mera_ru`.",
)

app.command(context_settings=run.SETTINGS, short_help="Run lm-eval on these tasks, with a quicker start.")(run.run)
app.command(short_help="Score logged responses anew, without the model.")(score.score)
app.command(short_help="Have an LLM judge logged responses.")(judge.judge)
app.command(short_help="Compare models by their runs; make a report.")(compare.compare)
app.command()(submit.submit)
app.add_typer(data.app, name="data")
app.command()(path.path)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"mera-ru {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # where the terminal's encoding lacks a character
    try:
        app()
    except MeraRuError as error:
        print(f"Error: {printable(error)}", file=sys.stderr)
        raise SystemExit(1) from None
    except OSError as error:
        if error.filename is None:
            raise
        print(f"Error: {printable(error.filename)}: {error.strerror}.", file=sys.stderr)
        raise SystemExit(1) from None
