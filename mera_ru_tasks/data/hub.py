"""Read the rows of a benchmark from the Hugging Face hub or its local cache, and save them for offline machines."""

from __future__ import annotations

import contextlib
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark, benchmark_named, benchmark_of_task
from mera_ru_tasks.data.files import SPLITS
from mera_ru_tasks.issues import DataError, Issue, Location
from mera_ru_tasks.paths import open_regular, read_bounded, sample_folder
from mera_ru_tasks.textutil import quoted

_WAYS_OUT = (
    "You have three options. (1) Give this machine access to the hub, or to a mirror set in HF_ENDPOINT, and set "
    "HF_TOKEN if the dataset requires a token. (2) Set MERA_RU_DATA to a folder that contains a copy in the subfolder "
    "`{}`. (3) Run the sample data in the package, which need no network: `--tasks mera_ru_sample`."
)


def read_hub(
    benchmark: Benchmark, revision: str | None = None, *, hint: str = _WAYS_OUT
) -> dict[str, tuple[str, list[Any]]]:
    """Read the splits of a benchmark's hub dataset.

    Args:
        benchmark: the benchmark to read.
        revision: a branch, tag or commit; None for the newest commit.
        hint: advice for the message if the hub cannot be read; `{}` is replaced with the benchmark's name.

    Returns:
        A mapping from each split to its location and its unchanged rows.

    Raises:
        DataError: the dataset is not on the hub, or cannot be loaded.
    """
    name = _hub_name(benchmark)
    import datasets

    with _hub_errors(benchmark, revision, hint):
        loaded = datasets.load_dataset(name, revision=revision)
    return _splits_of(loaded, name + (f"@{revision}" if revision else ""))


def hub_commit(benchmark: Benchmark, revision: str | None, *, hint: str) -> str:
    """Return the commit of a revision of a hub dataset. Raises the same errors as `read_hub`."""
    name = _hub_name(benchmark)
    from huggingface_hub import HfApi

    with _hub_errors(benchmark, revision, hint):
        commit = HfApi().dataset_info(name, revision=revision).sha
    return str(commit)


def read_hub_cache(benchmark: Benchmark) -> dict[str, tuple[str, list[Any]]] | None:
    """Read the newest copy in the cache of the library `datasets`, or return None if there is none.

    No network is used. The library's offline mode has the same effect, but cannot be enabled for a single call.
    """
    if benchmark.hub is None:
        return None
    from datasets.packaged_modules.cache.cache import Cache

    try:
        name = benchmark.hub.rpartition("/")[2]
        loaded = Cache(repo_id=benchmark.hub, dataset_name=name, version="auto", hash="auto").as_dataset()
    except (OSError, ValueError):  # no copy, or an incomplete one
        return None
    return _splits_of(loaded, f"{benchmark.hub} (cached)")


def _hub_name(benchmark: Benchmark) -> str:
    if benchmark.hub is None:
        raise DataError(
            f"{benchmark.title} is not on the hub. Set MERA_RU_DATA to a folder that contains "
            f"{benchmark.name}/test.json."
        )
    return benchmark.hub


@contextlib.contextmanager
def _hub_errors(benchmark: Benchmark, revision: str | None, hint: str) -> Iterator[None]:
    """Convert every hub error into a DataError with a hint."""
    from datasets.exceptions import DatasetsError
    from huggingface_hub import constants
    from huggingface_hub.errors import HTTPError  # from the installed HTTP client: requests or httpx

    try:
        yield
    except (OSError, ValueError, RuntimeError, DatasetsError, HTTPError) as error:
        at = f" at revision {revision}" if revision else ""
        first_line = (str(error).splitlines() or ["no message"])[0]
        if constants.HF_HUB_OFFLINE:
            offline = " HF_HUB_OFFLINE is set, so the hub was not asked. To use the network, unset it."
        else:
            offline = " To skip the retries, set HF_HUB_OFFLINE=1." if hint is _WAYS_OUT else ""
        raise DataError(
            f"The dataset {benchmark.hub}{at} could not be loaded from the hub "
            f"({type(error).__name__}: {first_line}). {hint.replace('{}', benchmark.name)}{offline}"
        ) from error


def _splits_of(loaded: Mapping[str, Any], location: str) -> dict[str, tuple[str, list[Any]]]:
    return {split: (f"{location}, split {split}", loaded[split].to_list()) for split in SPLITS if split in loaded}


@dataclass(frozen=True)
class Fetched:
    """A saved dataset.

    Attributes:
        folder: the folder with the saved files.
        revision: the commit that was saved.
        rows: a mapping from each split to its number of rows.
        checksums: a mapping from each file name to its SHA-256 checksum.
    """

    folder: Path
    revision: str
    rows: Mapping[str, int]
    checksums: Mapping[str, str]


_FETCH_HINT = (
    "Give this machine access to the hub, or to a mirror set in HF_ENDPOINT, and set HF_TOKEN if the dataset requires "
    "a token. Or run this command on a machine that has access, and copy the folder here."
)
# A file in the format of `sha256sum`, so that `sha256sum --check SHA256SUMS` also works.
SUMS = "SHA256SUMS"


def to_fetch(name: str) -> Benchmark:
    """Return the benchmark for the name of a benchmark or task, or raise DataError if it cannot be fetched."""
    benchmark, variants = benchmark_of_task(name) or (benchmark_named(name), ())
    if "sample" in variants:
        raise DataError(f"The data of {name} are part of the package and need not be fetched: {sample_folder()}.")
    if benchmark.hub is None:
        raise DataError(f"{benchmark.title} is not on the hub, so it cannot be fetched. Copy the data by hand.")
    return benchmark


def fetch(benchmark: Benchmark, root: Path, revision: str | None = None) -> Fetched:
    """Download a benchmark's dataset from the hub to `root/TITLE`.

    To use the copy in a run, set MERA_RU_DATA to `root`.

    Args:
        benchmark: the benchmark to download.
        root: the data folder, which is created if it does not exist.
        revision: a branch, tag or commit; None for the newest commit.

    Raises:
        DataError: the dataset cannot be loaded, or the folder exists.
    """
    folder = root / benchmark.title
    if folder.exists():
        raise DataError(f"{folder} already exists. Choose another folder with -o, or delete it.")
    commit = hub_commit(benchmark, revision, hint=_FETCH_HINT)
    splits = read_hub(benchmark, commit, hint=_FETCH_HINT)
    root.mkdir(parents=True, exist_ok=True)
    # Write to a temporary folder, so that an incomplete folder never has the final name.
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
    """Remove null values from the objects in a row.

    The hub stores rows in columns, so a field that only other rows have is null.
    """
    return {
        name: {key: part for key, part in value.items() if part is not None} if isinstance(value, Mapping) else value
        for name, value in row.items()
    }


def _write_sums(folder: Path, names: Sequence[str]) -> dict[str, str]:
    sums = {name: _sum(folder / name) for name in names}
    (folder / SUMS).write_text("".join(f"{digest}  {name}\n" for name, digest in sums.items()), encoding="utf-8")
    return sums


def check_files(folder: Path) -> Iterator[Issue]:
    """Report files that differ from the checksums in the folder, if there are checksums."""
    known = folder / SUMS
    if not known.is_file():
        return
    for line in read_bounded(known, 1 << 20).decode("utf-8", "replace").splitlines():
        digest, _, name = line.partition("  ")
        if not name or Path(name).name != name:
            message = f"the line {quoted(line)} is not a checksum of a file in this folder"
            yield Issue("invalid-checksum", "error", Location(str(known)), message, "Delete the file.")
        elif not (folder / name).is_file():
            location, message = Location(str(folder / name)), f"it is missing, but {SUMS} lists it"
            yield Issue("missing-file", "error", location, message, "Fetch the data again.")
        elif _sum(folder / name) != digest:
            location, message = Location(str(folder / name)), f"it differs from its checksum in {SUMS}"
            hint = f"Fetch the data again, or delete {SUMS} if you changed the file yourself."
            yield Issue("changed-file", "error", location, message, hint)


def _sum(file: Path) -> str:
    digest = hashlib.sha256()
    with open_regular(file) as stream:
        while part := stream.read(1 << 20):
            digest.update(part)
    return digest.hexdigest()
