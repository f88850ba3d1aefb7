"""Find and load the data of a benchmark, from a local folder if one is set, otherwise from the hub.

Prompts, answer extraction and scoring use documents. A document is a row with its `instruction` as text. All documents
have the same `inputs` fields; missing inputs are empty strings. Two fields are added so that later code does not need
the benchmark: `answer_format` (see `benchmarks.AnswerFormat`) and, for benchmarks with groups, `meta.group_size`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data import hub
from mera_ru_tasks.data.benchmarks import BENCHMARKS, Benchmark, benchmark_named, benchmark_of_task, scored_split
from mera_ru_tasks.data.custom import benchmark_of_file
from mera_ru_tasks.data.files import (
    SPLITS,
    benchmark_folder,
    data_folders,
    dataset_folder,
    fill_in_prompts,
    has_prompt_indices,
    read_prompts,
    read_splits,
)
from mera_ru_tasks.data.schema import check_rows, format_of, further_meta, tidy_rows
from mera_ru_tasks.issues import DataError, Issue, errors
from mera_ru_tasks.paths import expanded, sample_folder, task_names
from mera_ru_tasks.textutil import LIST_TASKS, plural, suggest

if TYPE_CHECKING:
    from datasets import Dataset

Splits = dict[str, tuple[str, list[Any]]]


@dataclass(frozen=True)
class Source:
    """The location of a benchmark's rows.

    Attributes:
        benchmark: the benchmark.
        folder: the folder with the benchmark's data; None for the hub.
        revision: a branch, tag or commit of the hub dataset; None for the newest commit.
    """

    benchmark: Benchmark
    folder: Path | None
    revision: str | None = None

    @property
    def location(self) -> str:
        """Return the folder or the name of the hub dataset, for messages."""
        return str(self.folder or self.benchmark.hub)

    @property
    def is_shipped(self) -> bool:
        """Return True for the package's sample data, which are intentionally smaller than the data card says."""
        return self.folder is not None and self.folder.resolve().is_relative_to(sample_folder())

    def read(self) -> tuple[Splits, list[Issue]]:
        """Read the rows, resolve prompt indices and convert harmless wrong types (see `tidy_rows`), without checks.

        Returns:
            A mapping from each split to its location and rows, and the issues found while reading.

        Raises:
            DataError: the data cannot be read.
        """
        if self.folder is None:
            return self._prepare(hub.read_hub(self.benchmark, self.revision))
        splits, issues = read_splits(self.folder)
        splits, found = self._prepare(splits)
        return splits, issues + found

    def read_hub_cache(self) -> tuple[Splits, list[Issue]] | None:
        """Read the newest copy in the cache of the library `datasets`, as `read` does; return None if there is none."""
        cached = hub.read_hub_cache(self.benchmark)
        return self._prepare(cached) if cached else None

    def _prepare(self, splits: Splits) -> tuple[Splits, list[Issue]]:
        prompts = self.benchmark.prompts
        issues: list[Issue] = []
        if prompts:
            splits, issues = fill_in_prompts(splits, prompts, "mera_ru_prompts", in_turn=True)
        elif self.folder and has_prompt_indices(splits):
            splits, issues = fill_in_prompts(splits, read_prompts(self.folder), "dataset_meta.json")
        splits, found = tidy_rows(splits, self.benchmark)
        return splits, issues + found


def find_source(benchmark: Benchmark, data: str | Path | None = None, revision: str | None = None) -> Source:
    """Return the source of a benchmark's data.

    A custom dataset with a folder is read from there. Otherwise the data come from the folder `data`, from the folder
    in MERA_RU_DATA or from the hub, in this order. If a folder is set, the hub is never used.

    Args:
        benchmark: the benchmark.
        data: a data folder, which contains a folder for each benchmark.
        revision: a revision of the hub dataset. By default, MERA_RU_REVISION or the newest commit.

    Raises:
        DataError: a folder is set but does not contain the benchmark.
    """
    if benchmark.path:
        return Source(benchmark, dataset_folder(benchmark.path))
    named = data or os.environ.get("MERA_RU_DATA")
    if named:
        return Source(benchmark, benchmark_folder(expanded(named), benchmark))
    return Source(benchmark, None, revision or os.environ.get("MERA_RU_REVISION") or None)


def find_source_by_name(name: str, data: str | Path | None = None) -> tuple[Source, tuple[str, ...]]:
    """Return the source of the data for the name of a benchmark or task.

    Args:
        name: the name of a benchmark or task, or the YAML file of a custom task. `_sample` tasks always use the
            shipped data.
        data: see `find_source`.

    Returns:
        The source, and the variants in the task's name (see `benchmarks.benchmark_of_task`).

    Raises:
        DataError: the name is unknown, or the folder does not contain the benchmark.
        TaskError: the YAML file does not describe a custom task.
    """
    if name.endswith((".yaml", ".yml")):
        benchmark, settings = benchmark_of_file(expanded(name))
        variants: tuple[str, ...] = ("prefill",) if settings.get("mera_ru_prefill") else ()
    elif known := benchmark_of_task(name):
        benchmark, variants = known
    else:
        raise DataError(f"There is no benchmark or task {name!r}. {suggest(name, _names_with_data(), LIST_TASKS)}")
    return find_source(benchmark, sample_folder() if "sample" in variants else data), variants


def find_sources(target: str, benchmark: str | None = None) -> list[Source]:
    """Return the sources for a data folder, the folder of a benchmark, or a name.

    Args:
        target: a folder, or a name for `find_source_by_name`.
        benchmark: the benchmark of the folder, if it cannot be inferred from the folder's name.

    Raises:
        DataError: the data do not exist.
        TaskError: the YAML file does not describe a custom task.
    """
    path = expanded(target)
    if benchmark is not None:
        if not path.is_dir():
            raise DataError(f"{path} is not a folder. Pass the folder that contains test.json.")
        return [Source(benchmark_named(benchmark), path)]
    if target.endswith((".yaml", ".yml")) or benchmark_of_task(target):
        return [find_source_by_name(target)[0]]
    if not path.is_dir():
        what = (
            "is a file, not a folder or a task's YAML file"
            if path.exists()
            else "is neither a folder nor the name of a benchmark or task"
        )
        raise DataError(f"{target} {what}. {suggest(target, _names_with_data(), LIST_TASKS)}")
    named = [candidate for candidate in BENCHMARKS.values() if path.resolve().name.lower() in candidate.folders]
    if named:
        return [Source(named[0], path)]
    inside = {child.name.lower() for folder in data_folders(path) for child in folder.iterdir() if child.is_dir()}
    found = [candidate for candidate in BENCHMARKS.values() if inside & set(candidate.folders)]
    if not found:
        names = ", ".join(BENCHMARKS)
        raise DataError(
            f"{path} is not named like a benchmark and contains no folder of a benchmark. If it contains the data of a "
            f"benchmark, set --benchmark ({names}). A data folder must contain folders with these names."
        )
    return [Source(candidate, benchmark_folder(path, candidate)) for candidate in found]


def _names_with_data() -> list[str]:
    """Return the names of all tasks. Groups are left out, because they have no data of their own."""
    return [name for name in task_names() if benchmark_of_task(name)]


def load_benchmark(
    name: str, *, data: str | Path | None = None, revision: str | None = None, split: str = "test"
) -> dict[str, Dataset]:
    """Load the documents of a benchmark or task by its name.

    Args:
        name: a benchmark (`enantiosemy`), a task (`riddles_sample`), or the YAML file of a custom task.
        data: a data folder, which contains a folder for each benchmark. By default, MERA_RU_DATA or the hub.
        revision: a revision of the hub dataset. By default, MERA_RU_REVISION or the newest commit.
        split: the split that must exist; any other missing split is returned empty.

    Returns:
        A mapping from `test` and `shots` to the documents, each of which can be passed to `score_response`.

    Raises:
        DataError: the name is unknown, or the data are missing or invalid.
        TaskError: the YAML file does not describe a custom task.
    """
    source, _ = find_source_by_name(name, data)
    if source.folder is None and revision:
        source = Source(source.benchmark, None, revision)
    return load_source(source, split)


def load(
    benchmark: Benchmark, *, data: str | Path | None = None, revision: str | None = None, scored: str = "test"
) -> dict[str, Dataset]:
    """Load the documents of a benchmark from the source that `find_source` returns (see `load_source`)."""
    return load_source(find_source(benchmark, data, revision), scored)


def load_source(source: Source, scored: str = "test") -> dict[str, Dataset]:
    """Load and check the documents of all splits.

    Args:
        source: the location of the data.
        scored: the split that must exist; any other missing split is returned empty.

    Raises:
        DataError: the data are missing or invalid. The message names the file, row and field, and says how to fix them.
    """
    splits, found = source.read()
    if scored not in splits:
        raise DataError(_missing_split(source, scored, splits))
    if not splits[scored][1]:
        raise DataError(f"{splits[scored][0]} contains no rows, so {source.benchmark.title} cannot be run.")
    _raise_first([*found, *check_rows(splits, source.benchmark)])
    return _datasets(splits, source.benchmark, scored)


def load_local_rows(benchmark: Benchmark, *, data: str | Path | None = None) -> Splits | None:
    """Read and check the rows of a benchmark without network access.

    Args:
        benchmark: the benchmark.
        data: see `find_source`.

    Returns:
        The rows in the local folder if one is set, otherwise in the newest copy in the cache of the library
        `datasets`; None if there is no copy.

    Raises:
        DataError: the data in the local folder or the cache are missing or invalid.
    """
    source = find_source(benchmark, data)
    read = source.read() if source.folder else source.read_hub_cache()
    if read is None:
        return None
    splits, found = read
    _raise_first([*found, *check_rows(splits, benchmark)])
    return splits


def find_document(
    name: str, identity: int | None = None, *, data: str | Path | None = None
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """Load one document of a benchmark or task.

    Args:
        name: see `find_source_by_name`.
        identity: the `meta.id` of a document in any split; None for the first document that the task scores.
        data: see `find_source`.

    Returns:
        The document, and the variants in the task's name.

    Raises:
        DataError: the name or the id is unknown, or the data are missing or invalid.
        TaskError: the YAML file does not describe a custom task.
    """
    source, variants = find_source_by_name(name, data)
    scored = scored_split(variants)
    splits = load_source(source, scored)
    documents = [*splits[scored], *(doc for split, part in splits.items() if split != scored for doc in part)]
    found = documents[:1] if identity is None else [doc for doc in documents if doc["meta"]["id"] == identity]
    if not found:
        ids = {split: [doc["meta"]["id"] for doc in part] for split, part in splits.items() if len(part)}
        ranges = " and ".join(f"from {min(known)} to {max(known)} in {split}" for split, known in ids.items())
        raise DataError(f"{source.location} has no document with id {identity}. Ids range {ranges}.")
    return found[0], variants


def _raise_first(issues: Iterable[Issue]) -> None:
    stopping = errors(issues)
    if stopping:
        rest = len(stopping) - 1
        more = (
            f" ({rest} more {plural(rest, 'error', 'errors')} in these data. To list all, run `mera-ru data check`.)"
            if rest
            else ""
        )
        raise DataError(f"{stopping[0]}{more}")


def _missing_split(source: Source, split: str, splits: Splits) -> str:
    if not source.folder:
        return (
            f"The dataset {source.location} has no split `{split}`. Set MERA_RU_REVISION to a revision with this split."
        )
    others = ", ".join(splits) or "none"
    return (
        f"{source.folder} has no split `{split}` (splits found: {others}). Add {split}.json, {split}.jsonl, "
        f"{split}.parquet, or a copy made by save_to_disk."
    )


def _datasets(splits: Splits, benchmark: Benchmark, scored: str) -> dict[str, Dataset]:
    import datasets
    import pyarrow as pa

    # The hub stores missing fields as null, so a field that is null in all rows counts as absent.
    fields = (row["inputs"] for _, rows in splits.values() for row in rows)
    inputs = sorted({name for given in fields for name, value in given.items() if value is not None})
    meta = ("id", *benchmark.meta, *further_meta(splits, benchmark))
    loaded: dict[str, Dataset] = {}
    for split in (scored, *(split for split in SPLITS if split != scored)):
        location, rows = splits.get(split, ("", []))
        documents = _documents(rows, benchmark, inputs, meta)
        try:
            loaded[split] = datasets.Dataset.from_list(documents) if documents else loaded[scored].select(range(0))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            first_line = (str(error).splitlines() or ["no message"])[0]
            raise DataError(
                f"{location}, field `meta`: a field has different types in different rows ({first_line}). "
                "Use the same type for a `meta` field in all rows."
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
            "answer_format": answer_format.as_dict(),
        }
        if sizes is not None:
            document["meta"]["group_size"] = sizes[row["meta"]["group_id"]]
        documents.append(document)
    return documents
