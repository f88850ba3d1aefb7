"""The command `mera-ru`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from mera_ru_tasks import __version__
from mera_ru_tasks.errors import MeraRuError
from mera_ru_tasks.paths import yaml_folder

app = typer.Typer(
    name="mera-ru",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Russian benchmarks of MERA Text 2.0 for lm-evaluation-harness.",
    epilog="The evaluation itself is lm-eval's: `lm_eval --model hf --model_args pretrained=MODEL --tasks mera_ru`.",
)


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


@app.command()
def path() -> None:
    """Print the folder of the task YAML files, for `lm_eval --include_path "$(mera-ru path)"`.

    Not needed where lm-eval finds the tasks by itself; it does after a plain installation.
    """
    print(yaml_folder())


def main() -> None:
    """Run the command line; a user's mistake ends with its message and exit status 1."""
    try:
        app()
    except MeraRuError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(1) from None
