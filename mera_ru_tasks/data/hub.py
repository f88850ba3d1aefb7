"""Read a benchmark's rows from the Hugging Face hub, or from the local cache of the library `datasets`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark
from mera_ru_tasks.data.files import SPLITS
from mera_ru_tasks.errors import DataError

_WAYS_OUT = (
    "You have three options: give this machine access to the hub, or to a mirror of it with HF_ENDPOINT, and set "
    "HF_TOKEN if the dataset requires one; set MERA_RU_DATA to a folder that holds a copy in a folder `{}`; or run the "
    "tasks on the data that the package ships, `--tasks mera_ru_sample`, which need no network. Set HF_HUB_OFFLINE=1 "
    "to skip the retries."
)


def read_hub(
    benchmark: Benchmark, revision: str | None = None, *, hint: str = _WAYS_OUT
) -> dict[str, tuple[str, list[Any]]]:
    """Read the splits of a benchmark's hub dataset.

    Args:
        benchmark: which one.
        revision: a branch, tag or commit; None for the newest.
        hint: what to do if the hub fails; `{}` is replaced by the benchmark's name.

    Returns:
        For each split found its location and its rows, as they are stored.

    Raises:
        DataError: the dataset is not on the hub, or cannot be loaded.
    """
    name = _hub_name(benchmark)
    import datasets

    with _hub_errors(benchmark, revision, hint):
        loaded = datasets.load_dataset(name, revision=revision)
    return _splits_of(loaded, name + (f"@{revision}" if revision else ""))


def hub_commit(benchmark: Benchmark, revision: str | None, *, hint: str) -> str:
    """Return the commit of a revision of the hub dataset, a name for data that cannot change. Else as `read_hub`."""
    name = _hub_name(benchmark)
    from huggingface_hub import HfApi

    with _hub_errors(benchmark, revision, hint):
        commit = HfApi().dataset_info(name, revision=revision).sha
    return str(commit)


def read_hub_cache(benchmark: Benchmark) -> dict[str, tuple[str, list[Any]]] | None:
    """Read the newest copy that `datasets` has cached, without network; None if there is no copy.

    The library's offline mode does the same, but cannot be switched on for one call.
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
            f"{benchmark.title} is not on the hub. Set MERA_RU_DATA to a folder with a folder `{benchmark.name}` "
            "that holds test.json."
        )
    return benchmark.hub


@contextlib.contextmanager
def _hub_errors(benchmark: Benchmark, revision: str | None, hint: str) -> Iterator[None]:
    """Turn every failure of the hub into a DataError with a hint."""
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HTTPError  # that of the installed HTTP client: requests or httpx

    try:
        yield
    except (OSError, ValueError, RuntimeError, DatasetsError, HTTPError) as error:
        at = f" at revision {revision}" if revision else ""
        first_line = (str(error).splitlines() or ["no message"])[0]
        raise DataError(
            f"The dataset {benchmark.hub}{at} could not be loaded from the hub "
            f"({type(error).__name__}: {first_line}). {hint.replace('{}', benchmark.name)}"
        ) from error


def _splits_of(loaded: Mapping[str, Any], location: str) -> dict[str, tuple[str, list[Any]]]:
    return {split: (f"{location}, split {split}", loaded[split].to_list()) for split in SPLITS if split in loaded}
