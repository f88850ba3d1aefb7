"""Helpers for the tests of loading: data in every file format, and the loaded documents."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.data.load import load
from mera_ru_tasks.issues import DataError
from tests.support.rows import Row

HUB = (ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS)
Splits = Mapping[str, list[Row]]


def documents(loaded: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the documents of all splits as bytes, so that the order of fields is compared, too."""
    return {split: [json.dumps(doc, ensure_ascii=False) for doc in docs] for split, docs in loaded.items()}


def message(root: Path, benchmark: Benchmark, **settings: Any) -> str:
    """Return the message of the error that loading must raise, with ROOT instead of the data folder."""
    with pytest.raises(DataError) as caught:
        load(benchmark, data=root, **settings)
    return str(caught.value).replace(str(root), "ROOT")


def write_shards(folder: Path, splits: Splits, shards: int = 3) -> None:
    folder.mkdir(exist_ok=True)
    for split, rows in splits.items():
        table = pa.Table.from_pylist(rows)
        size = -(-len(rows) // shards)
        for number in range(shards):
            name = f"{split}-{number:05}-of-{shards:05}.parquet"
            pq.write_table(table.slice(number * size, size), folder / name)


def write_saved_dict(folder: Path, splits: Splits) -> None:
    datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in splits.items()}).save_to_disk(folder)
