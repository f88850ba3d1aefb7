"""Saving a hub dataset in the authors' layout, for a machine without network."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark, benchmark_of_task
from mera_ru_tasks.data.checksums import write_checksums
from mera_ru_tasks.data.load import from_hub, hub_commit
from mera_ru_tasks.data.sources import benchmark_named
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.paths import sample_folder


@dataclass(frozen=True)
class Fetched:
    """A saved dataset.

    Attributes:
        folder: where it is.
        revision: the commit that it is of.
        rows: how many rows each split has.
        checksums: the files' SHA-256 sums by name.
    """

    folder: Path
    revision: str
    rows: Mapping[str, int]
    checksums: Mapping[str, str]


_WAYS_OUT = (
    "Give this machine access to the hub, or a mirror of it with HF_ENDPOINT, and HF_TOKEN if the dataset asks for "
    "one; or run this on a machine that has access, and bring the folder here."
)


def to_fetch(name: str) -> Benchmark:
    """The benchmark of this name, or of a task of this name; raises DataError where it cannot be fetched."""
    benchmark, variants = benchmark_of_task(name) or (benchmark_named(name), ())
    if "sample" in variants:
        raise DataError(f"The data of {name} are in the package, so there is nothing to fetch: {sample_folder()}.")
    if benchmark.hub is None:
        raise DataError(f"{benchmark.title} is not on the hub, so it cannot be fetched. Copy it by hand.")
    return benchmark


def fetch(benchmark: Benchmark, root: Path, revision: str | None = None) -> Fetched:
    """Save a benchmark's hub dataset as `root/TITLE`, a folder in a data folder that MERA_RU_DATA can name.

    Args:
        benchmark: which one.
        root: the data folder, made if need be.
        revision: a branch, tag or commit; default: the newest.

    Raises:
        DataError: the dataset cannot be had, or the folder is there already.
    """
    folder = root / benchmark.title
    if folder.exists():
        raise DataError(f"{folder} exists and is not overwritten. Name another folder with -o, or delete it.")
    commit = hub_commit(benchmark, revision, ways_out=_WAYS_OUT)
    splits = from_hub(benchmark, commit, ways_out=_WAYS_OUT)
    root.mkdir(parents=True, exist_ok=True)
    # A folder that is half written must not look like a whole one.
    unfinished = Path(tempfile.mkdtemp(prefix=f".{benchmark.title}-", dir=root))
    try:
        rows = {split: [_without_absent(row) for row in rows] for split, (_, rows) in splits.items()}
        files = {f"{split}.json": {"data": part} for split, part in rows.items()}
        prompts = dict.fromkeys(row["instruction"] for part in rows.values() for row in part)
        meta = {"dataset_name": benchmark.title, "source": benchmark.hub, "revision": commit, "prompts": list(prompts)}
        for name, content in {**files, "dataset_meta.json": meta}.items():
            text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
            (unfinished / name).write_text(text, encoding="utf-8")
        sums = write_checksums(unfinished, [*files, "dataset_meta.json"])
        unfinished.chmod(0o755)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Fetched(folder, commit, {split: len(part) for split, part in rows.items()}, sums)


def _without_absent(row: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the inputs that only other rows have, which the hub's columns hold as null."""
    return {
        name: {key: part for key, part in value.items() if part is not None} if isinstance(value, Mapping) else value
        for name, value in row.items()
    }
