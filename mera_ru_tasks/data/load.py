"""Loading a benchmark: from a local folder where one is named, else from the hub; every row checked.

A document, as the prompt's template, the readings and the scores see it, is the row with its `instruction` as text, the
same `inputs` fields in every row (absent ones empty), and two things added so that nothing later needs to know the
benchmark: `answer_format` (see `benchmarks.AnswerFormat`) and, where documents count in groups, `meta.group_size`.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data.benchmarks import Benchmark
from mera_ru_tasks.data.files import SPLITS, benchmark_folder, dataset_folder, fill_in_prompts, read_splits
from mera_ru_tasks.data.schema import Problem, check_rows, format_of
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.paths import expanded

if TYPE_CHECKING:
    from datasets import Dataset

Splits = dict[str, tuple[str, list[Any]]]


def load(
    benchmark: Benchmark, *, data: str | Path | None = None, revision: str | None = None, scored: str = "test"
) -> dict[str, Dataset]:
    """Load the splits `test` and `shots` of a benchmark.

    Args:
        benchmark: which one.
        data: a folder that holds a folder for each benchmark; default: the environment's `MERA_RU_DATA`. Where it is
            set, only it is used.
        revision: the hub dataset's revision (branch, tag or commit); default: `MERA_RU_REVISION`, else the newest.
        scored: the split that must be there; another that is absent comes back empty.

    Raises:
        DataError: the data are missing or wrong; the message names place, row, field and remedy.
    """
    splits, problems = load_rows(benchmark, data=data, revision=revision)
    if scored not in splits:
        raise DataError(_missing(benchmark, scored, splits, data))
    if not splits[scored][1]:
        raise DataError(f"{splits[scored][0]} holds no rows, so there is nothing to run {benchmark.title} on.")
    _refuse(problems + list(check_rows(splits, benchmark)))
    return _datasets(splits, benchmark, scored)


def _refuse(problems: Sequence[Problem]) -> None:
    if problems:
        more = (
            f" ({len(problems) - 1} more problems in these data; `mera-ru data check` lists them all.)"
            if len(problems) > 1
            else ""
        )
        raise DataError(f"{problems[0]}{more}")


def rows_at_hand(benchmark: Benchmark, *, data: str | Path | None = None) -> Splits | None:
    """Read a benchmark's rows where this needs no network, checked.

    Args:
        benchmark: which one.
        data: as in `load`.

    Returns:
        The rows of the local folder that is named, else of the newest copy of the hub dataset in the cache of the
        library `datasets`, else None.

    Raises:
        DataError: a local folder is named, but its data are missing or wrong.
    """
    if _local_folder(benchmark, data):
        splits, problems = load_rows(benchmark, data=data)
    elif cached := _from_cache(benchmark):
        splits, problems = cached, []
    else:
        return None
    _refuse(problems + list(check_rows(splits, benchmark)))
    return splits


def load_rows(
    benchmark: Benchmark, *, data: str | Path | None = None, revision: str | None = None
) -> tuple[Splits, list[Problem]]:
    """Read a benchmark's rows as they are stored, with prompts put in for their indices, unchecked.

    Returns:
        For each split found its place and rows, and the problems met on the way.
    """
    folder = _local_folder(benchmark, data)
    if folder:
        return fill_in_prompts(read_splits(folder), folder)
    return from_hub(benchmark, revision or os.environ.get("MERA_RU_REVISION") or None), []


def _local_folder(benchmark: Benchmark, data: str | Path | None) -> Path | None:
    """The folder with the benchmark's files; None where none is named, so that the hub is asked."""
    if benchmark.path:
        return dataset_folder(benchmark.path)
    named = data or os.environ.get("MERA_RU_DATA")
    return benchmark_folder(expanded(named), benchmark) if named else None


_WAYS_OUT = (
    "Three ways out: give this machine access to the hub, or a mirror of it with HF_ENDPOINT, and HF_TOKEN if the "
    "dataset asks for one; or set MERA_RU_DATA to a folder that holds a copy in a folder `{}`; or run the tasks on the "
    "data that the package ships, `--tasks mera_ru_sample`, which need no network. HF_HUB_OFFLINE=1 spares the waiting."
)


def from_hub(benchmark: Benchmark, revision: str | None, *, ways_out: str = _WAYS_OUT) -> Splits:
    """Load a benchmark's rows from the hub, as `load_rows` does.

    Args:
        benchmark: which one.
        revision: a branch, tag or commit; None for the newest.
        ways_out: what to do where the hub does not give it.

    Raises:
        DataError: the hub does not have the dataset, or cannot be reached.
    """
    name = _hub_name(benchmark)
    import datasets

    with _hub_errors(benchmark, revision, ways_out):
        loaded = datasets.load_dataset(name, revision=revision)
    return _splits_of(loaded, name + (f"@{revision}" if revision else ""))


def hub_commit(benchmark: Benchmark, revision: str | None, *, ways_out: str) -> str:
    """The commit that a revision of the hub dataset is at; it names data that cannot change. All else as `from_hub`."""
    name = _hub_name(benchmark)
    from huggingface_hub import HfApi

    with _hub_errors(benchmark, revision, ways_out):
        commit = HfApi().dataset_info(name, revision=revision).sha
    return str(commit)


def _hub_name(benchmark: Benchmark) -> str:
    if benchmark.hub is None:
        raise DataError(
            f"{benchmark.title} is not on the hub. Set MERA_RU_DATA to a folder with a folder `{benchmark.name}` "
            "that holds test.json."
        )
    return benchmark.hub


@contextlib.contextmanager
def _hub_errors(benchmark: Benchmark, revision: str | None, ways_out: str) -> Iterator[None]:
    """Turn what goes wrong with the hub into a DataError that names the ways out."""
    from datasets.exceptions import DatasetsError
    from huggingface_hub.errors import HTTPError  # of the HTTP client that this release uses: requests or httpx

    try:
        yield
    except (OSError, ValueError, RuntimeError, DatasetsError, HTTPError) as error:
        at = f" at revision {revision}" if revision else ""
        raise DataError(
            f"The dataset {benchmark.hub}{at} could not be loaded from the hub "
            f"({type(error).__name__}: {_first_line(error)}). {ways_out.replace('{}', benchmark.name)}"
        ) from error


def _from_cache(benchmark: Benchmark) -> Splits | None:
    """The newest copy that `datasets` has cached. Its offline mode does the same, but cannot be had for one call."""
    if benchmark.hub is None:
        return None
    from datasets.packaged_modules.cache.cache import Cache

    try:
        name = benchmark.hub.rpartition("/")[2]
        loaded = Cache(repo_id=benchmark.hub, dataset_name=name, version="auto", hash="auto").as_dataset()
    except (OSError, ValueError):  # no copy, or a half one
        return None
    return _splits_of(loaded, f"{benchmark.hub} (cached)")


def _splits_of(loaded: Mapping[str, Any], place: str) -> Splits:
    return {split: (f"{place}, split {split}", loaded[split].to_list()) for split in SPLITS if split in loaded}


def _missing(benchmark: Benchmark, split: str, splits: Splits, data: str | Path | None) -> str:
    folder = _local_folder(benchmark, data)
    if not folder:
        return f"The dataset {benchmark.hub} has no split `{split}`. Name a revision that has it in MERA_RU_REVISION."
    others = ", ".join(splits) or "none"
    return (
        f"{folder} has no split `{split}` (splits found: {others}). Add {split}.json, {split}.jsonl, {split}.parquet, "
        "or a copy made by save_to_disk."
    )


def _datasets(splits: Splits, benchmark: Benchmark, scored: str) -> dict[str, Dataset]:
    import datasets
    import pyarrow as pa

    # The hub's tables hold null where a row lacks a field, and a field that no row has is none.
    fields = (row["inputs"] for _, rows in splits.values() for row in rows)
    inputs = sorted({name for given in fields for name, value in given.items() if value is not None})
    known = ("id", *benchmark.meta)
    ours = (*known, "group_size")  # which says that a document counts in a group
    extra = sorted({n for _, rows in splits.values() for row in rows for n in row["meta"] if n not in ours})
    loaded: dict[str, Dataset] = {}
    for split in (scored, *(split for split in SPLITS if split != scored)):
        place, rows = splits.get(split, ("", []))
        documents = _documents(rows, benchmark, inputs, (*known, *extra))
        try:
            loaded[split] = datasets.Dataset.from_list(documents) if documents else loaded[scored].select(range(0))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise DataError(
                f"{place}, field `meta`: a field holds values of different kinds over the rows ({_first_line(error)}). "
                "Write each meta field in one kind in all rows."
            ) from error
    return loaded


def _documents(
    rows: Sequence[Mapping[str, Any]], benchmark: Benchmark, inputs: Sequence[str], meta: Sequence[str]
) -> list[dict[str, Any]]:
    sizes = Counter(row["meta"]["group_id"] for row in rows) if benchmark.grouped else None
    documents = []
    for row in rows:
        answer_format = format_of(row, benchmark)
        assert answer_format is not None, "checked rows have a known type"
        document = {
            "instruction": row["instruction"],
            "inputs": {name: row["inputs"].get(name) or "" for name in inputs},
            "outputs": row["outputs"] or "",
            "meta": {name: row["meta"].get(name) for name in meta},
            "answer_format": vars(answer_format),
        }
        if sizes is not None:
            document["meta"]["group_size"] = sizes[row["meta"]["group_id"]]
        documents.append(document)
    return documents


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["no message"])[0]
