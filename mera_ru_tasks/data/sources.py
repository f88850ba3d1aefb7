"""What the user named to be looked at: a benchmark or task by its name, a folder, or the YAML file of an own task."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.data.benchmarks import BENCHMARKS, Benchmark, benchmark_of_task
from mera_ru_tasks.data.custom import of_file
from mera_ru_tasks.data.files import benchmark_folder, dataset_folder, fill_in_prompts, read_splits
from mera_ru_tasks.data.load import Splits, load_rows
from mera_ru_tasks.data.schema import Problem
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.paths import expanded, sample_folder, task_names
from mera_ru_tasks.textutil import suggest


@dataclass(frozen=True)
class Source:
    """Where a benchmark's rows are.

    Attributes:
        benchmark: which one.
        folder: its folder; None for the hub.
    """

    benchmark: Benchmark
    folder: Path | None

    @property
    def place(self) -> str:
        """The folder or the hub dataset, for messages."""
        return str(self.folder or self.benchmark.hub)

    def read(self) -> tuple[Splits, list[Problem]]:
        """Read the rows, as `data.load_rows` does."""
        if self.folder is None:
            return load_rows(self.benchmark)
        return fill_in_prompts(read_splits(self.folder), self.folder)


def sources(target: str, benchmark: str | None = None) -> list[Source]:
    """Find what `target` names.

    Args:
        target: a benchmark's or a task's name (its data are looked for as a run would), a folder, or the YAML file of a
            task on a user's own dataset.
        benchmark: which benchmark the path's folder is of, where its name does not say.

    Raises:
        DataError: there is no such thing.
        TaskError: the YAML file is no task's.
    """
    if _is_task_file(target):
        return [_of_file(target)[0]]
    path = expanded(target)
    if benchmark is not None:
        if not path.is_dir():
            raise DataError(f"{path} is no folder. Name the one that holds test.json.")
        return [Source(benchmark_named(benchmark), path)]
    if (known := benchmark_of_task(target)) is not None:
        return [_of_name(*known)]
    if not path.is_dir():
        what = (
            "is a file, not a folder or a task's YAML file"
            if path.exists()
            else "is neither a folder nor the name of a benchmark or task"
        )
        raise DataError(f"{target} {what}. {suggest(target, _known())}")
    own = [candidate for candidate in BENCHMARKS.values() if path.resolve().name.lower() in candidate.folders]
    if own:
        return [Source(own[0], path)]
    inside = {child.name.lower() for child in path.iterdir() if child.is_dir()}
    found = [candidate for candidate in BENCHMARKS.values() if inside & set(candidate.folders)]
    if not found:
        names = ", ".join(BENCHMARKS)
        raise DataError(
            f"{path} is no benchmark's folder by its name and holds none. If it is one, say which with --benchmark "
            f"({names}); a data folder holds folders with these names."
        )
    return [Source(candidate, benchmark_folder(path, candidate)) for candidate in found]


def source_of(name: str, data: Path | None = None) -> tuple[Source, tuple[str, ...]]:
    """The source of one benchmark or task by its name, and the task's variants.

    Args:
        name: the benchmark's or a task's name, or the YAML file of a task on a user's own dataset.
        data: a data folder; default: MERA_RU_DATA, else the hub.

    Raises:
        DataError: there is no such benchmark, or the folder does not hold it.
        TaskError: the YAML file is no task's.
    """
    if _is_task_file(name):
        return _of_file(name)
    known = benchmark_of_task(name)
    if known is None:
        raise DataError(f"There is no benchmark or task {name!r}. {suggest(name, _known())}")
    benchmark, variants = known
    return _of_name(benchmark, variants, data), variants


def _is_task_file(name: str) -> bool:
    return name.endswith((".yaml", ".yml"))


def _of_file(name: str) -> tuple[Source, tuple[str, ...]]:
    benchmark, settings = of_file(expanded(name))
    variants = ("prefill",) if settings.get("mera_ru_prefill") else ()
    return Source(benchmark, dataset_folder(benchmark.path) if benchmark.path else None), variants


def _of_name(benchmark: Benchmark, variants: tuple[str, ...], data: Path | None = None) -> Source:
    named = sample_folder() if "sample" in variants else data or os.environ.get("MERA_RU_DATA")
    if named:
        return Source(benchmark, benchmark_folder(expanded(named), benchmark))
    return Source(benchmark, None)


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of this name; raises DataError where there is none."""
    if name not in BENCHMARKS:
        raise DataError(f"There is no benchmark {name!r}. {suggest(name, BENCHMARKS)}")
    return BENCHMARKS[name]


def _known() -> list[str]:
    """The names that say which data are meant; those of groups do not."""
    return [name for name in task_names() if benchmark_of_task(name)]
