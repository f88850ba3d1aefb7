"""Save a hub dataset in the authors' layout, with checksums, for machines without network."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark, benchmark_of_task
from mera_ru_tasks.data.hub import hub_commit, read_hub
from mera_ru_tasks.data.load import benchmark_named
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.issues import Issue, Location
from mera_ru_tasks.paths import sample_folder


@dataclass(frozen=True)
class Fetched:
    """A saved dataset.

    Attributes:
        folder: where it is.
        revision: the commit that was saved.
        rows: how many rows each split has.
        checksums: the files' SHA-256 sums by name.
    """

    folder: Path
    revision: str
    rows: Mapping[str, int]
    checksums: Mapping[str, str]


_HINT = (
    "Give this machine access to the hub, or to a mirror of it with HF_ENDPOINT, and set HF_TOKEN if the dataset "
    "requires one. Or run this command on a machine that has access, and copy the folder here."
)
# In the format of the program `sha256sum`, so that `sha256sum --check SHA256SUMS` works too.
SUMS = "SHA256SUMS"


def to_fetch(name: str) -> Benchmark:
    """Return the benchmark of a benchmark's or task's name; raise DataError if it cannot be fetched."""
    benchmark, variants = benchmark_of_task(name) or (benchmark_named(name), ())
    if "sample" in variants:
        raise DataError(f"The data of {name} are in the package, so there is nothing to fetch: {sample_folder()}.")
    if benchmark.hub is None:
        raise DataError(f"{benchmark.title} is not on the hub, so it cannot be fetched. Copy it yourself.")
    return benchmark


def fetch(benchmark: Benchmark, root: Path, revision: str | None = None) -> Fetched:
    """Save a benchmark's hub dataset as `root/TITLE`, a folder in a data folder that MERA_RU_DATA can name.

    Args:
        benchmark: which one.
        root: the data folder, created if it does not exist.
        revision: a branch, tag or commit; default: the newest.

    Raises:
        DataError: the dataset cannot be loaded, or the folder exists.
    """
    folder = root / benchmark.title
    if folder.exists():
        raise DataError(f"{folder} exists and is not overwritten. Name another folder with -o, or delete it.")
    commit = hub_commit(benchmark, revision, hint=_HINT)
    splits = read_hub(benchmark, commit, hint=_HINT)
    root.mkdir(parents=True, exist_ok=True)
    # An incomplete folder must not look complete.
    unfinished = Path(tempfile.mkdtemp(prefix=f".{benchmark.title}-", dir=root))
    try:
        rows = {split: [_without_absent(row) for row in rows] for split, (_, rows) in splits.items()}
        files = {f"{split}.json": {"data": part} for split, part in rows.items()}
        prompts = dict.fromkeys(row["instruction"] for part in rows.values() for row in part)
        meta = {"dataset_name": benchmark.title, "source": benchmark.hub, "revision": commit, "prompts": list(prompts)}
        for name, content in {**files, "dataset_meta.json": meta}.items():
            text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
            (unfinished / name).write_text(text, encoding="utf-8")
        sums = _write_sums(unfinished, [*files, "dataset_meta.json"])
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Fetched(folder, commit, {split: len(part) for split, part in rows.items()}, sums)


def _without_absent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Remove the inputs that only other rows have, which are null in the hub's columns."""
    return {
        name: {key: part for key, part in value.items() if part is not None} if isinstance(value, Mapping) else value
        for name, value in row.items()
    }


def _write_sums(folder: Path, names: Sequence[str]) -> dict[str, str]:
    sums = {name: _sum(folder / name) for name in names}
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    return sums


def check_files(folder: Path) -> Iterator[Issue]:
    """Find the files that differ from the folder's checksums, if it has any."""
    known = folder / SUMS
    if not known.is_file():
        return
    for line in known.read_text(encoding="utf-8", errors="replace").splitlines():
        digest, _, name = line.partition("  ")
        if not name or Path(name).name != name:
            message = f"the line {line!r} is not a checksum of a file in this folder"
            yield Issue("invalid-checksum", "error", Location(str(known)), message, "Delete the file.")
        elif not (folder / name).is_file():
            location, message = Location(str(folder / name)), f"it is missing, but {SUMS} lists it"
            yield Issue("missing-file", "error", location, message, "Fetch the data again.")
        elif _sum(folder / name) != digest:
            location, message = Location(str(folder / name)), f"it differs from its checksum in {SUMS}"
            hint = f"Fetch the data again; if the change is yours, delete {SUMS}."
            yield Issue("changed-file", "error", location, message, hint)


def _sum(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
