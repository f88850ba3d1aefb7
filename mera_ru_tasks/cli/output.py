"""Where commands may write."""

from __future__ import annotations

import os
from pathlib import Path

from mera_ru_tasks.errors import OutputError


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
