"""The choice of the folder, and every error in a folder."""

from __future__ import annotations

import json
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mera_ru_tasks.data.benchmarks import (
    BENCHMARKS,
    ENANTIOSEMY,
    RIDDLES_CLOSED,
    RIDDLES_OPEN,
    RUSSIAN_REGIONS,
    Benchmark,
)
from mera_ru_tasks.data.load import load
from mera_ru_tasks.harness import task
from mera_ru_tasks.issues import DataError
from tests.support.load import message, write_shards
from tests.support.rows import data_folder, enantiosemy, region, riddle


@pytest.mark.parametrize(
    ("benchmark", "folder"),
    [
        (ENANTIOSEMY, "enantiosemy"), (ENANTIOSEMY, "Enantiosemy"), (ENANTIOSEMY, "ENANTIOSEMY"),
        (RIDDLES_CLOSED, "riddles_closed"), (RIDDLES_CLOSED, "Riddles"), (RIDDLES_CLOSED, "Riddles_Closed"),
        (RIDDLES_OPEN, "riddles_open"), (RIDDLES_OPEN, "RIDDLES_open"),
        (RUSSIAN_REGIONS, "russian_regions"), (RUSSIAN_REGIONS, "RussianRegions"), (RUSSIAN_REGIONS, "russianREGIONS"),
    ],
)  # fmt: skip
def test_folders_have_our_names_or_the_authors_in_any_case(tmp_path: Path, benchmark: Benchmark, folder: str) -> None:
    row = {"enantiosemy": enantiosemy, "russian_regions": region}.get(benchmark.name, riddle)(1)
    root = data_folder(tmp_path, folder, [row])
    (root / "README.md").write_text("beside the folders")
    assert load(benchmark, data=root)["test"]["outputs"][0] == row["outputs"]


def test_the_folder_named_to_the_task_wins_over_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = data_folder(tmp_path / "named", "riddles", [riddle(1, "Огонь")])
    data_folder(tmp_path / "environment", "riddles", [riddle(1, "Вода")])
    monkeypatch.setenv("MERA_RU_DATA", str(tmp_path / "environment"))
    answers = [
        task.load(mera_ru_benchmark="riddles_closed", **arguments)["test"]["outputs"][0]
        for arguments in ({}, {"mera_ru_data": str(named), "pretrained": "a model's argument"}, {"mera_ru_data": ""})
    ]
    assert answers == ["Вода", "Огонь", "Вода"]


def test_a_tilde_in_the_folders_name_is_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data_folder(tmp_path / "data", "riddles", [riddle(1, "Огонь")])
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(RIDDLES_CLOSED, data="~/data")["test"]["outputs"][0] == "Огонь"


def test_absent_shots_are_an_empty_split(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)], shots=None)
    loaded = load(RIDDLES_CLOSED, data=root)
    assert (len(loaded["test"]), len(loaded["shots"])) == (1, 0)


def test_shots_alone_are_enough_for_the_tasks_that_score_them(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [], shots=[riddle(1)])
    (root / "riddles" / "test.json").unlink()
    loaded = load(RIDDLES_CLOSED, data=root, scored="shots")
    assert (len(loaded["test"]), len(loaded["shots"])) == (0, 1)
    text = message(root, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles has no split `test` (splits found: shots)") and "test.json" in text


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=list(BENCHMARKS))
def test_a_benchmark_that_the_folder_lacks_is_an_error(
    tmp_path: Path, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Other").mkdir()
    monkeypatch.setenv("MERA_RU_DATA", str(tmp_path))
    with pytest.raises(DataError) as caught:
        load(benchmark)
    text = str(caught.value)
    assert str(tmp_path) in text and f"`{benchmark.name}`" in text and "Other" in text
    assert ("unset MERA_RU_DATA" in text) == (benchmark.hub is not None)


def test_faults_of_the_data_folder(tmp_path: Path) -> None:
    root = tmp_path / "data"
    assert "ROOT does not exist" in message(root, RIDDLES_CLOSED)
    root.write_text("")
    assert "ROOT is a file" in message(root, RIDDLES_CLOSED)
    root.unlink()
    root.mkdir()
    assert "ROOT has no folder `riddles_closed` or `Riddles`" in message(root, RIDDLES_CLOSED)
    data_folder(root, "Riddles", [riddle(1)])
    data_folder(root, "riddles_closed", [riddle(1)])
    assert message(root, RIDDLES_CLOSED).startswith(
        "ROOT contains several folders for Riddles: Riddles, riddles_closed"
    )


def test_a_benchmarks_own_folder_is_not_a_data_folder(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    text = message(root / "riddles", RIDDLES_CLOSED)
    assert "shots.json, test.json" in text and "a folder `riddles_closed`" in text


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (("test.json", "test.jsonl"), "test.json, test.jsonl"),
        (("test.parquet", "test-00000-of-00001.parquet"), "test.parquet, test-*-of-00001.parquet"),
        (("test-00000-of-00001.parquet", "data/test-00000-of-00001.parquet"),
         "test-*-of-00001.parquet, data/test-*-of-00001.parquet"),
        (("test.json", "test/"), "test.json, a saved dataset"),
    ],
)  # fmt: skip
def test_a_split_that_is_there_twice(tmp_path: Path, files: tuple[str, ...], names: str) -> None:
    folder = tmp_path / "riddles"
    (folder / "data").mkdir(parents=True)
    for file in files:
        if file.endswith(".parquet"):
            pq.write_table(pa.Table.from_pylist([riddle(1)]), folder / file)
        elif file.endswith("/"):
            datasets.Dataset.from_list([riddle(1)]).save_to_disk(folder / file)
        else:
            (folder / file).write_text(json.dumps([riddle(1)]) if file.endswith(".json") else json.dumps(riddle(1)))
    assert message(tmp_path, RIDDLES_CLOSED).startswith(
        f"ROOT/riddles contains the split `test` more than once: {names}."
    )


@pytest.mark.parametrize("lost", ["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"])
def test_a_lost_shard_is_an_error_and_not_a_smaller_test_set(tmp_path: Path, lost: str) -> None:
    folder = tmp_path / "riddles"
    write_shards_of = [riddle(identity) for identity in range(1, 7)]
    (folder / "data").mkdir(parents=True)
    write_shards(folder / "data", {"test": write_shards_of})
    (folder / "data" / lost).unlink()
    text = message(tmp_path, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles/data/test-*-of-00003.parquet: ") and "there are 3 of them, not 2" in text


def test_parts_of_two_sets_are_no_whole_one(tmp_path: Path) -> None:
    write_shards(tmp_path / "riddles", {"test": [riddle(number) for number in range(4)]}, shards=2)
    last = tmp_path / "riddles" / "test-00001-of-00002.parquet"
    last.rename(last.with_name("test-00001-of-00003.parquet"))
    assert message(tmp_path, RIDDLES_CLOSED).startswith("ROOT/riddles/test-*-of-")
