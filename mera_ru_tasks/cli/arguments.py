"""Define and check arguments that several commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.issues import OutputError, RunError, errors
from mera_ru_tasks.textutil import printable, say

if TYPE_CHECKING:
    from mera_ru_tasks.logs.lmeval import TaskLog
    from mera_ru_tasks.logs.rescore import Responses

RUN_HELP = "lm-eval's output folder, a model's folder in it, or log files. The newest run of each task is used."

Runs = Annotated[list[Path], typer.Argument(metavar="RUN", show_default=False, help=RUN_HELP)]
References = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Take the reference answers from this data folder, joined by id; default: those in the logs.",
    ),
]


def note_unused_data(logs: Sequence[TaskLog], data: Path | None) -> None:
    """Print the logs for which `--data` is not used: those of the shipped sample tasks."""
    from mera_ru_tasks.logs.rescore import has_shipped_data

    shipped = sorted({log.task for log in logs if has_shipped_data(log)})
    if data is not None and shipped:
        say(f"Note: --data is not used for {', '.join(shipped)}, whose data are part of the package.")


def read_usable_responses(logs: Sequence[TaskLog]) -> tuple[list[Responses], bool]:
    """Read the logs' responses, and print issues in the logs to standard error.

    Returns:
        The responses of the logs whose numbers may be shown, and True if no log was left out.

    Raises:
        RunError: no log is usable.
    """
    from mera_ru_tasks.logs.rescore import read_responses

    found = [read_responses(log) for log in logs]
    for issue in (issue for one in found for issue in one.issues):
        print(printable(f"{issue.severity.capitalize()}: {issue}"), file=sys.stderr)
    usable = [one for one in found if not errors(one.issues)]
    if not usable:
        raise RunError("No log can be scored; see the messages above.")
    return usable, len(usable) == len(found)


def require_new(file: Path, *, force: bool | None = None) -> None:
    """Check that a command can create an output file, before it does the work.

    Args:
        file: the file.
        force: True to allow an existing file; None for a command without `--force`.

    Raises:
        OutputError: the file exists, its folder does not exist, or the folder is not writable.
    """
    folder = file.absolute().parent
    if file.exists() and not (force and file.is_file()):
        way_out = "delete it" if force is None else "replace it with --force"
        raise OutputError(f"{file} already exists. Choose another file with -o, or {way_out}.")
    if not folder.is_dir():
        raise OutputError(f"Cannot write {file}: the folder {folder} does not exist. Create it, or use another -o.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"Cannot write {file}: no write permission for {folder}. Choose another folder with -o.")
