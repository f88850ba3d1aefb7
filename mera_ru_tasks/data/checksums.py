"""Checksums in the form of the program `sha256sum`, so that `sha256sum --check SHA256SUMS` works too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from mera_ru_tasks.data.findings import Finding

NAME = "SHA256SUMS"


def write_checksums(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """Write the checksums of the folder's files `names`; returns them by name."""
    sums = {name: _sum(folder / name) for name in names}
    (folder / NAME).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    return sums


def changed_files(folder: Path) -> Iterator[Finding]:
    """Find the files that differ from the folder's checksums, where it has any."""
    known = folder / NAME
    if not known.is_file():
        return
    for line in known.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if not name or Path(name).name != name:
            yield Finding.on_whole(str(known), f"the line {line!r} is no checksum of a file here", "Delete the file.")
        elif not (folder / name).is_file():
            yield Finding.on_whole(
                str(folder / name), f"it is missing, though {NAME} names it", "Fetch the data again."
            )
        elif _sum(folder / name) != digest:
            yield Finding.on_whole(
                str(folder / name), f"it differs from its checksum in {NAME}",
                f"Fetch the data again; if the change is yours, delete {NAME}.",
            )  # fmt: skip


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
