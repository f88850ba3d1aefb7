"""Define the `mera-ru` command line.

Each module in this folder contains one command or a few related ones. A command parses its arguments, calls another
package to do the work, and prints the result. The other packages are imported inside the command's function, so that
`--help` and shell completion stay fast.

Exit status: 0 for success, 1 for an error in files, settings or data, 2 for a usage error.
"""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from mera_ru_tasks import __version__
from mera_ru_tasks.cli import compare, data, rescore, submit, tasks
from mera_ru_tasks.issues import MeraRuError
from mera_ru_tasks.paths import explain_full_disk
from mera_ru_tasks.secrets import without_own_secrets
from mera_ru_tasks.textutil import printable

app = typer.Typer(
    name="mera-ru",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help keeps the line breaks of the examples. It is also twice as fast, because rich loads a Markdown parser.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Russian benchmarks of MERA Text 2.0 for lm-evaluation-harness.",
    epilog="You can also run the tasks with lm-eval's own command: "
    "`lm_eval --model hf --model_args pretrained=MODEL --tasks mera_ru`.",
)

app.command(context_settings=tasks.RUN_SETTINGS, short_help="Run lm-eval on these tasks, with a faster start-up.")(
    tasks.run
)
app.command(short_help="Rescore logged responses, without the model.")(rescore.score)
app.command(short_help="Judge logged responses with an LLM.")(rescore.judge)
app.command(short_help="Compare models, and create a report.")(compare.compare)
app.command(short_help="Estimate the difference that a run can detect.")(compare.power)
app.command()(submit.submit)
app.add_typer(data.app, name="data")
app.command(short_help="List the tasks, their data and sizes.")(tasks.tasks)
app.command(short_help="Check the installation and the settings.")(tasks.doctor)
app.command()(tasks.path)


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
    """Run the command line. For a user's mistake, print a message without a traceback and exit with status 1."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for characters that the terminal cannot encode
    try:
        app()
    except MeraRuError as error:
        _fail(str(error))
    except OSError as error:
        if message := explain_full_disk(error):
            _fail(message)
        if error.filename is None:
            _crash()
        _fail(f"{error.filename}: {error.strerror}.")
    except Exception:
        _crash()


def _fail(message: str) -> None:
    print(f"Error: {printable(message)}", file=sys.stderr)
    raise SystemExit(1) from None


def _crash() -> None:
    """Print the traceback as Python does, but without secrets, since users paste it into reports of faults."""
    print(printable(without_own_secrets(traceback.format_exc())), end="", file=sys.stderr)
    raise SystemExit(1) from None
