"""What commands share in what they print. Data and responses are hostile text: none of it may steer the terminal."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mera_ru_tasks.errors import OutputError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """Escape control characters, bidirectional overrides and half characters; keep line ends and tabs."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], str(text))


def say(text: object) -> None:
    """Print to standard output."""
    print(printable(text))


def require_new(file: Path) -> None:
    """Refuse a file to write before the work for it is done.

    Raises:
        OutputError: it exists, or it cannot be made where it is to be.
    """
    folder = file.absolute().parent
    if file.exists():
        raise OutputError(f"{file} exists and is not overwritten. Name another file with -o, or delete it.")
    if not folder.is_dir():
        raise OutputError(f"{file} cannot be written: there is no folder {folder}. Make it, or name another with -o.")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{file} cannot be written: {folder} is closed to you. Name another folder with -o.")


def cell(text: object) -> Text:
    """A table's cell with this text, whatever markup it looks like."""
    from rich.text import Text

    return Text(printable(text))


def console() -> Console:
    """Where tables are printed; wide enough for them where standard output is no terminal."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=_WIDE)


_WIDE = 160
