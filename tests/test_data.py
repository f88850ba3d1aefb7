"""Loading: every form on disk gives the same documents; every fault in the data has its message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rows import Row, data_folder, enantiosemy, region, riddle
from synthetic import make_prompts, make_rows, write_data

from mera_ru_tasks import harness
from mera_ru_tasks.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.data import load
from mera_ru_tasks.errors import DataError

HUB = (ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS)
Splits = Mapping[str, list[Row]]


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder of the test's own, and with one, nothing may ask the hub."""
    for name in ("MERA_RU_DATA", "MERA_RU_REVISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("the hub was asked"))


def documents(loaded: Mapping[str, Any]) -> dict[str, list[str]]:
    """The documents of all splits as bytes would be written, so that the order of fields counts too."""
    return {split: [json.dumps(doc, ensure_ascii=False) for doc in docs] for split, docs in loaded.items()}


def message(root: Path, benchmark: Benchmark, **settings: Any) -> str:
    """The message of the error that loading must end with, the data folder written as ROOT."""
    with pytest.raises(DataError) as caught:
        load(benchmark, data=root, **settings)
    return str(caught.value).replace(str(root), "ROOT")


# --- forms on disk ---------------------------------------------------------------------------------------------------


def with_prompts(benchmark: Benchmark, row: Row) -> Row:
    """A row whose prompt is text, its blocks among the inputs, as the hub and people's own copies have it."""
    prompt = make_prompts(benchmark)[row["instruction"]]
    if isinstance(prompt, str):
        return {**row, "instruction": prompt}
    blocks = {name: text for name, text in prompt.items() if isinstance(text, str) and name != "instruction"}
    return {**row, "instruction": prompt["instruction"], "inputs": {**blocks, **row["inputs"]}}


def write_lines(folder: Path, splits: Splits, line_end: str = "\n", head: bytes = b"") -> None:
    for split, rows in splits.items():
        text = line_end.join(json.dumps(row, ensure_ascii=False) for row in rows)
        (folder / f"{split}.jsonl").write_bytes(head + text.encode() + line_end.encode())


def write_json_text(folder: Path, splits: Splits) -> None:
    for split, rows in splits.items():
        (folder / f"{split}.json").write_text(json.dumps({"data": rows}, ensure_ascii=False), encoding="utf-8")


def write_json_list(folder: Path, splits: Splits) -> None:
    for split, rows in splits.items():
        (folder / f"{split}.json").write_text("\ufeff" + json.dumps(rows), encoding="utf-8")


def write_parquet(folder: Path, splits: Splits) -> None:
    for split, rows in splits.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / f"{split}.parquet")


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


def write_saved_each(folder: Path, splits: Splits) -> None:
    for split, rows in splits.items():
        datasets.Dataset.from_list(rows).save_to_disk(folder / split)


FORMS: dict[str, Callable[[Path, Splits], None]] = {
    "json with prompts": write_json_text,
    "json, a bare list with a byte-order mark": write_json_list,
    "jsonl": write_lines,
    "jsonl of Windows, blank lines": lambda folder, splits: write_lines(folder, splits, "\r\n\r\n", b"\xef\xbb\xbf"),
    "parquet": write_parquet,
    "parquet in shards": write_shards,
    "the hub's data folder": lambda folder, splits: write_shards(folder / "data", splits, shards=1),
    "a saved DatasetDict": write_saved_dict,
    "saved Datasets": write_saved_each,
}


@pytest.mark.parametrize("benchmark", HUB, ids=lambda benchmark: benchmark.name)
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_documents(tmp_path: Path, benchmark: Benchmark, form: str) -> None:
    test, shots = make_rows(benchmark, rows_per_type=4, shots_per_type=3)
    authors = write_data(tmp_path / "authors", rows_per_type=4, shots_per_type=3, benchmarks=(benchmark,))
    folder = tmp_path / "copy" / benchmark.name
    folder.mkdir(parents=True)
    FORMS[form](folder, {"test": [with_prompts(benchmark, row) for row in test],
                         "shots": [with_prompts(benchmark, row) for row in shots]})  # fmt: skip
    expected = documents(load(benchmark, data=authors))
    assert documents(load(benchmark, data=tmp_path / "copy")) == expected
    assert [len(docs) for docs in expected.values()] == [len(test), len(shots)]


def test_a_document_is_the_row_and_what_its_task_needs(tmp_path: Path) -> None:
    blocks = {"task_type": 2, "instruction": "{introduction} {task_formulation}", "introduction": "Вот."}
    indexed = region(1, "Б; файл", kind=2, group=7) | {"instruction": 1}
    root = data_folder(tmp_path, "RussianRegions", [indexed, region(2, group=7, source="словарь")],
                       prompts=["не этот", blocks])  # fmt: skip
    loaded = load(RUSSIAN_REGIONS, data=root)
    assert loaded["test"][0] == {
        "instruction": "{introduction} {task_formulation}",
        "inputs": {
            "example_text": "Вот пример.", "introduction": "Вот.", "lang_unit": "мультифора",
            "option_a": "Текст a1.", "option_b": "Текст b1.", "option_c": "Текст c1.", "option_d": "Текст d1.",
            "task_formulation": "Задание 1.",
        },
        "outputs": "Б; файл",
        "meta": {"id": 1, "group_id": 7, "task_type": 2, "source": None, "group_size": 2},
        "answer_format": {"letters": "АБВГ", "most": 1, "unit": True},
    }  # fmt: skip
    assert (
        loaded["test"][1]["inputs"] | {"introduction": "", "lang_unit": "", "example_text": ""}
        == (loaded["test"][1]["inputs"])
    ), "inputs that other rows have are empty"
    assert loaded["test"][1]["answer_format"] == {"letters": "АБВГ", "most": 1, "unit": False}
    assert len(loaded["shots"]) == 0
    assert loaded["shots"].features == loaded["test"].features


def test_a_rows_own_block_wins_over_its_prompts(tmp_path: Path) -> None:
    prompt = {"instruction": "{task_formulation}", "task_formulation": "из промпта"}
    own, empty = region(1) | {"instruction": 0}, region(2) | {"instruction": 0}
    empty["inputs"] |= {"task_formulation": ""}
    root = data_folder(tmp_path, "russian_regions", [own, empty], prompts=[prompt])
    shown = [doc["inputs"]["task_formulation"] for doc in load(RUSSIAN_REGIONS, data=root)["test"]]
    assert shown == ["Задание 1.", "из промпта"]


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
        harness.load(mera_ru_benchmark="riddles_closed", **arguments)["test"]["outputs"][0]
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
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles has no split `test` (splits found: shots). "
        "Add test.json, test.jsonl, test.parquet, or a copy made by save_to_disk."
    )


def test_full_size_data_load_whole(tmp_path: Path) -> None:
    root = write_data(tmp_path, answers=False)
    sizes = {benchmark.name: len(load(benchmark, data=root)["test"]) for benchmark in HUB}
    assert sizes == {"enantiosemy": 506, "riddles_closed": 500, "russian_regions": 603}


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=list(BENCHMARKS))
def test_a_benchmark_that_the_folder_lacks_is_an_error(
    tmp_path: Path, benchmark: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Other").mkdir()
    monkeypatch.setenv("MERA_RU_DATA", str(tmp_path))
    with pytest.raises(DataError) as caught:
        load(benchmark)
    text = str(caught.value)
    assert text.startswith(f"The data folder {tmp_path} has no folder `{benchmark.name}`")
    assert "it holds: Other." in text
    assert ("or unset MERA_RU_DATA to use the hub dataset" in text) == (benchmark.hub is not None)


# --- faults in folders and files -------------------------------------------------------------------------------------


def test_faults_of_the_data_folder(tmp_path: Path) -> None:
    remedy = (
        "Put the benchmark's files into a folder `riddles_closed` in it, or unset MERA_RU_DATA to use the hub dataset."
    )
    root = tmp_path / "data"
    assert message(root, RIDDLES_CLOSED) == f"The data folder ROOT does not exist. {remedy}"
    root.write_text("")
    assert message(root, RIDDLES_CLOSED) == f"The data folder ROOT is a file. {remedy}"
    root.unlink()
    root.mkdir()
    assert message(root, RIDDLES_CLOSED) == (
        f"The data folder ROOT has no folder `riddles_closed` or `Riddles` for Riddles; it holds: nothing. {remedy}"
    )
    data_folder(root, "Riddles", [riddle(1)])
    data_folder(root, "riddles_closed", [riddle(1)])
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT holds several folders for Riddles: Riddles, riddles_closed. Keep one of them."
    )


def test_a_benchmarks_own_folder_is_not_a_data_folder(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    assert message(root / "riddles", RIDDLES_CLOSED).endswith(
        "it holds: shots.json, test.json. Put the benchmark's files into a folder `riddles_closed` in it, "
        "or unset MERA_RU_DATA to use the hub dataset."
    )


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
    assert message(tmp_path, RIDDLES_CLOSED) == (
        f"ROOT/riddles holds the split `test` more than once: {names}. Keep one of them."
    )


@pytest.mark.parametrize("lost", ["test-00000-of-00003.parquet", "test-00002-of-00003.parquet"])
def test_a_lost_shard_is_an_error_and_not_a_smaller_test_set(tmp_path: Path, lost: str) -> None:
    folder = tmp_path / "riddles"
    write_shards_of = [riddle(identity) for identity in range(1, 7)]
    (folder / "data").mkdir(parents=True)
    write_shards(folder / "data", {"test": write_shards_of})
    (folder / "data" / lost).unlink()
    assert message(tmp_path, RIDDLES_CLOSED) == (
        "ROOT/riddles/data/test-*-of-00003.parquet: 2 files where their names count 3. "
        "Fetch the missing ones, or keep one set."
    )


MEND = "Mend the file there."


def convert_from(encoding: str) -> str:
    return f"Convert it, for instance with `iconv -f {encoding} -t UTF-8`."


TEXT = json.dumps({"data": [riddle(1, "Снег")]}, ensure_ascii=False, indent=1)
LINE = json.dumps(riddle(1, "Снег"), ensure_ascii=False)


@pytest.mark.parametrize(
    ("name", "content", "expected", "remedy"),
    [
        ("test.json", b"", "is not valid JSON: line 1, column 1: ", MEND),
        ("test.json", b'{"data": [\n  {"instruction" "a"}\n]}', "is not valid JSON: line 2, column 18: ", MEND),
        ("test.json", TEXT.encode()[:-2], "is not valid JSON: line 13, column 3: ", MEND),
        ("test.json", f"{LINE}\n{LINE}".encode(), "is not valid JSON: line 2, column 1: ", MEND),
        ("test.jsonl", f"{LINE}\n\n{{'instruction'".encode(), "is not valid JSON: line 3, column 2: ", MEND),
        ("test.jsonl", f"{LINE}\n{LINE[:30]}".encode(), "is not valid JSON: line 2, column 17: ", MEND),
        ("test.json", b'{"data": {"test": []}}', "holds no rows. ", 'Write it as {"data": [row, …]}.'),
        ("test.json", b'{"rows": []}', "holds no rows. ", 'Write it as {"data": [row, …]}.'),
        ("test.json", b'"data"', "holds no rows. ", 'Write it as {"data": [row, …]}.'),
        ("test.json", b'{"data": []}', "holds no rows, ", "so there is nothing to run Riddles on."),
        ("test.jsonl", b"\n\n", "holds no rows, ", "so there is nothing to run Riddles on."),
        ("test.json", TEXT.encode("utf-16"), "is not UTF-8: byte 0, line 1. ", convert_from("UTF-16")),
        ("test.json", TEXT.encode("utf-16-le"), "is not UTF-8: byte 120, line 4. ", convert_from("UTF-16")),
        ("test.json", TEXT.encode("cp1251"), "is not UTF-8: byte 36, line 4. ", convert_from("CP1251")),
        ("test.jsonl", f"{LINE}\n".encode() + LINE.encode("cp1251"),
         "is not UTF-8: byte 206, line 2. ", convert_from("CP1251")),
        ("test.json", b'{"data": [' + b"[" * 100_000,
         ": the JSON is nested too deeply ", "to be a benchmark's row."),
        ("test.jsonl", f"{LINE}\n".encode() + b'{"meta": {"id": ' + b"9" * 5000 + b"}}",
         ", line 2: a number has too many digits. ", "Write it shorter, or as a string."),
        ("test.parquet", b"", "is not a readable Parquet file: ", "Make or fetch it again."),
        ("test.parquet", b"PAR1 and nothing else", "is not a readable Parquet file: ", "Make or fetch it again."),
    ],
)  # fmt: skip
def test_faults_of_files(tmp_path: Path, name: str, content: bytes, expected: str, remedy: str) -> None:
    folder = tmp_path / "riddles"
    folder.mkdir()
    (folder / name).write_bytes(content)
    text = message(tmp_path, RIDDLES_CLOSED)
    assert text.startswith(f"ROOT/riddles/{name}{'' if expected[0] in ',:' else ' '}{expected}")
    assert text.endswith(remedy)


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])

    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)  # a test that runs as root may read every file
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles/test.json cannot be read: Permission denied. Check the file's permissions."
    )


@pytest.mark.parametrize("lost", ["state.json", "dataset_info.json", "data-00000-of-00001.arrow"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"[]"])
def test_a_broken_saved_dataset(tmp_path: Path, lost: str, content: bytes | None) -> None:
    folder = tmp_path / "riddles"
    write_saved_dict(folder, {"test": [riddle(1)], "shots": [riddle(2)]})
    (folder / "test" / lost).unlink()
    if content is not None:
        (folder / "test" / lost).write_bytes(content)
    text = message(tmp_path, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles is not a readable saved dataset: ")
    assert text.endswith("Save it again.")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "ROOT/riddles/dataset_meta.json is missing, but rows name their prompt by its index there. "
               "Add the file, or write the prompt itself into `instruction`."),
        ("{", "ROOT/riddles/dataset_meta.json is not valid JSON: line 1, column 2: "
              "Expecting property name enclosed in double quotes. Mend the file there."),
        *((json.dumps(bad), "ROOT/riddles/dataset_meta.json, field `prompts`: it is not a list of prompts. "
                            "Each prompt is a string or an object with `instruction`.")
          for bad in ([], {}, {"prompts": None}, {"prompts": "a"}, {"prompts": [1]}, {"prompts": [{"text": "a"}]})),
        ('{"prompts": []}', "ROOT/riddles/test.json, row 1 (id 1), field `instruction`: dataset_meta.json has no "
                            "prompt 2, it holds no prompts. "
                            "Mend the index, or write the prompt itself into `instruction`."),
        ('{"prompts": ["a", "b"]}', "ROOT/riddles/test.json, row 1 (id 1), field `instruction`: dataset_meta.json has "
                                    "no prompt 2, its prompts are 0 to 1. "
                                    "Mend the index, or write the prompt itself into `instruction`."),
    ],
)  # fmt: skip
def test_faults_of_prompts(tmp_path: Path, content: str | None, expected: str) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1) | {"instruction": 2}])
    if content is not None:
        (root / "riddles" / "dataset_meta.json").write_text(content)
    assert message(root, RIDDLES_CLOSED) == expected


def test_a_negative_index_names_no_prompt(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1) | {"instruction": -1}], prompts=["a"])
    assert "dataset_meta.json has no prompt -1" in message(root, RIDDLES_CLOSED)


# --- faults in rows --------------------------------------------------------------------------------------------------

REGION_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г in alphabetical order, joined by `; `, as in `А`."
UNIT_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г in alphabetical order, joined by `; `, as in `А; единица`."
SIX_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г, Д, Е in alphabetical order, joined by `; `, as in `А; Б`."


def without(row: Row, *path: str) -> Row:
    """The row without one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return row


def with_value(row: Row, value: Any, *path: str) -> Row:
    """The row with another value in one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return row


FAULTS: list[tuple[Benchmark, Any, str]] = [
    # No row at all, and fields that are missing.
    (RIDDLES_CLOSED, "a",
     "field `row`: it is a string, not an object. Each row needs instruction, inputs, outputs and meta."),
    (RIDDLES_CLOSED, None,
     "field `row`: it is null, not an object. Each row needs instruction, inputs, outputs and meta."),
    (RIDDLES_CLOSED, without(riddle(2), "instruction"),
     "(id 2), field `instruction`: the field is missing. Add it, as a string."),
    (RIDDLES_CLOSED, without(riddle(2), "inputs"),
     "(id 2), field `inputs`: the field is missing. Add it, as an object."),
    (RIDDLES_CLOSED, without(riddle(2), "outputs"),
     "(id 2), field `outputs`: the field is missing. Add it, as a string."),
    (RIDDLES_CLOSED, without(riddle(2), "meta"), "field `meta`: the field is missing. Add it, as an object."),
    (RIDDLES_CLOSED, without(riddle(2), "meta", "id"), "field `meta.id`: the field is missing. Add it, as an integer."),
    (RIDDLES_CLOSED, without(riddle(2), "inputs", "question"),
     "(id 2), field `inputs.question`: the field is missing. Riddles needs it in every row."),
    (ENANTIOSEMY, without(enantiosemy(2), "inputs", "option_f"),
     "(id 2), field `inputs.option_f`: the field is missing. Enantiosemy needs it in every row."),
    (ENANTIOSEMY, without(enantiosemy(2), "meta", "type"),
     "(id 2), field `meta.type`: the field is missing. Add it, as an integer."),
    (RUSSIAN_REGIONS, without(region(2), "meta", "group_id"),
     "(id 2), field `meta.group_id`: the field is missing. Add it, as an integer."),
    (RUSSIAN_REGIONS, without(region(2), "meta", "task_type"),
     "(id 2), field `meta.task_type`: the field is missing. Add it, as an integer."),
    # Wrong types.
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "instruction"),
       f"(id 2), field `instruction`: it is {kind}, not a string. Write it as a string.")
      for value, kind in ((None, "null"), (True, "a boolean"), (1.5, "a number"), ([], "a list"), ({}, "an object"))),
    (RIDDLES_CLOSED, with_value(riddle(2), "q", "inputs"),
     "(id 2), field `inputs`: it is a string, not an object. Write it as an object."),
    (RIDDLES_CLOSED, with_value(riddle(2), 7, "inputs", "question"),
     "(id 2), field `inputs.question`: it is an integer, not a string. Write it as a string."),
    (RIDDLES_CLOSED, with_value(riddle(2), ["Снег"], "outputs"),
     "(id 2), field `outputs`: it is a list, not a string. Write it as a string."),
    (RIDDLES_CLOSED, with_value(riddle(2), [], "meta"),
     "field `meta`: it is a list, not an object. Write it as an object."),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "meta", "id"),
       f"field `meta.id`: it is {kind}, not an integer. Write it as an integer.")
      for value, kind in (("2", "a string"), (2.0, "a number"), (True, "a boolean"))),
    (RUSSIAN_REGIONS, with_value(region(2), "0", "meta", "group_id"),
     "(id 2), field `meta.group_id`: it is a string, not an integer. Write it as an integer."),
    (ENANTIOSEMY, with_value(enantiosemy(2), "1", "meta", "type"),
     "(id 2), field `meta.type`: it is a string, not an integer. Write it as an integer."),
    # Empty texts.
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "instruction"),
       "(id 2), field `instruction`: it is empty. Put the prompt's template here, or its index in dataset_meta.json.")
      for empty in ("", " \n\t")),
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "inputs", "question"),
       "(id 2), field `inputs.question`: it is empty. Riddles needs it filled in every row.")
      for empty in ("", " ", None)),
    # Types and ids.
    (ENANTIOSEMY, enantiosemy(2, type=5), "(id 2), field `meta.type`: the type 5 is unknown. "
     "Enantiosemy has the types 1, 2, 3, 4."),
    (RUSSIAN_REGIONS, region(2, task_type=0), "(id 2), field `meta.task_type`: the type 0 is unknown. "
     "RussianRegions has the types 1, 2, 3."),
    (RIDDLES_CLOSED, riddle(1),
     "(id 1), field `meta.id`: the id stands already in ROOT/riddles_closed/test.json, row 1. "
     "Ids must differ over test and shots together: renumber one of the rows."),
    # References.
    (RIDDLES_CLOSED, riddle(2, "; !; «»"), "(id 2), field `outputs`: '; !; «»' holds no word. "
     "Write the accepted answers, joined by `; `."),
    (ENANTIOSEMY, enantiosemy(2, "А; Ж"),
     f"(id 2), field `outputs`: 'А; Ж' holds the unknown letter 'Ж'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "A; Е"),
     f"(id 2), field `outputs`: 'A; Е' holds the unknown letter 'A' (a Latin letter). {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "а; б"),
     f"(id 2), field `outputs`: 'а; б' holds the unknown letter 'а'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "Е; А"),
     f"(id 2), field `outputs`: 'Е; А' has its letters out of order. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А; А"), f"(id 2), field `outputs`: 'А; А' holds a letter twice. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А;Б"),
     f"(id 2), field `outputs`: 'А;Б' holds the unknown letter 'А;Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А;  Б"),
     f"(id 2), field `outputs`: 'А;  Б' holds the unknown letter ' Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А, Б"),
     f"(id 2), field `outputs`: 'А, Б' holds the unknown letter 'А, Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А; "),
     f"(id 2), field `outputs`: 'А; ' holds the unknown letter 'А;'. {SIX_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Д"), f"(id 2), field `outputs`: 'Д' holds the unknown letter 'Д'. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "А; Б"),
     f"(id 2), field `outputs`: 'А; Б' holds 2 letters, at most 1 fit. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б; файл"),
     f"(id 2), field `outputs`: 'Б; файл' holds the unknown letter 'файл'. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б", kind=2),
     f"(id 2), field `outputs`: 'Б' lacks the language unit behind the letter. {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б; —", kind=3),
     f"(id 2), field `outputs`: 'Б; —' lacks the language unit behind the letter. {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "B; файл", kind=2),
     f"(id 2), field `outputs`: 'B; файл' holds the unknown letter 'B' (a Latin letter). {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "файл", kind=2),
     f"(id 2), field `outputs`: 'файл' holds the unknown letter 'файл'. {UNIT_LETTERS}"),
    # What JSON can write and a document cannot hold.
    (RIDDLES_CLOSED, riddle(2, "Сне\ud800г"),
     "(id 2), field `outputs`: character 4 is half a character (the lone surrogate "
     "'\\ud800'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, with_value(riddle(2), "\udc00", "inputs", "question"),
     "(id 2), field `inputs.question`: character 1 is "
     "half a character (the lone surrogate '\\udc00'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, riddle(2, source=["a", "\ud83d"]), "(id 2), field `meta.source`: character 1 is half a character "
     "(the lone surrogate '\\ud83d'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, with_value(riddle(2), "a", "inputs", "x\ud83d"),
     "(id 2), field `'inputs.x\\ud83d'`: its name holds half a character (a lone surrogate). Write the name anew."),
    (RIDDLES_CLOSED, riddle(2**63), f"(id {2**63}), field `meta.id`: the integer {2**63} is too large. "
     f"The largest is {2**63 - 1}."),
    (RIDDLES_CLOSED, riddle(2, year=10**30), f"(id 2), field `meta.year`: the integer {10**30} is too large. "
     f"The largest is {2**63 - 1}."),
    *((RIDDLES_CLOSED, riddle(2, year=float(number)),
       f"(id 2), field `meta.year`: it is {number}, which is no number. Write a number, or null.")
      for number in ("nan", "inf", "-inf")),
    # Fields of the user's own.
    (RIDDLES_CLOSED, riddle(2, origin=5), "(id 2), field `meta.origin`: it is a number, but a string in "
     "ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
    (RIDDLES_CLOSED, riddle(2, origin={"a": 1}), "(id 2), field `meta.origin`: it is an object, but a string in "
     "ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
]  # fmt: skip


@pytest.mark.parametrize(("benchmark", "row", "expected"), FAULTS, ids=range(len(FAULTS)))
def test_faults_of_rows(tmp_path: Path, benchmark: Benchmark, row: Any, expected: str) -> None:
    good = {"enantiosemy": enantiosemy, "russian_regions": region}.get(benchmark.name, riddle)(1, origin="книга")
    root = data_folder(tmp_path, benchmark.name, [good, row])
    place = f"ROOT/{benchmark.name}/test.json, row 2"
    assert message(root, benchmark) == place + (" " if expected.startswith("(") else ", ") + expected


@pytest.mark.parametrize("depth", [20, 400])
def test_a_field_that_is_nested_too_deeply(tmp_path: Path, depth: int) -> None:
    deep = json.loads("[" * depth + "]" * depth)
    root = data_folder(tmp_path, "riddles", [riddle(1, source=deep)])
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles/test.json, row 1 (id 1), field `meta.source`: it is nested too deeply. "
        "A row may be 16 objects and lists deep."
    )


def test_lists_of_mixed_kinds_are_named_too(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, tags=["a"]), riddle(2, tags=[1])])
    assert message(root, RIDDLES_CLOSED).startswith(
        "ROOT/riddles/test.json, field `meta`: a field holds values of different kinds over the rows ("
    )


def test_fields_of_the_users_own_are_kept(tmp_path: Path) -> None:
    rows = [riddle(1, source="книга", year=1900, tags=["a"]), riddle(2, year=1900.5, more={"of": {"it": None}})]
    loaded = load(RIDDLES_CLOSED, data=data_folder(tmp_path, "riddles", rows))["test"]
    assert [doc["meta"]["year"] for doc in loaded] == [1900, 1900.5]
    assert [doc["meta"]["tags"] for doc in loaded] == [["a"], None]


def test_an_id_is_doubled_over_test_and_shots(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)], shots=[riddle(3), riddle(2)])
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles/shots.json, row 2 (id 2), field `meta.id`: the id stands already in "
        "ROOT/riddles/test.json, row 2. Ids must differ over test and shots together: renumber one of the rows."
    )


def test_the_first_problem_is_shown_and_the_rest_counted(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "!"), riddle(2, "?"), riddle(3, "."), riddle(4)])
    assert message(root, RIDDLES_CLOSED).endswith(
        "joined by `; `. (2 more problems in these data; `mera-ru data check` lists them all.)"
    )


@pytest.mark.parametrize("closed", ["", "  ", None])
@pytest.mark.parametrize("make", [enantiosemy, riddle, region])
def test_closed_answers_are_no_fault(tmp_path: Path, make: Callable[..., Row], closed: str | None) -> None:
    benchmark = {enantiosemy: ENANTIOSEMY, riddle: RIDDLES_CLOSED, region: RUSSIAN_REGIONS}[make]
    root = data_folder(tmp_path, benchmark.name, [make(1, closed), make(2)])
    assert len(load(benchmark, data=root)["test"]) == 2


# --- the hub ---------------------------------------------------------------------------------------------------------


def hub(monkeypatch: pytest.MonkeyPatch, **splits: list[Row]) -> list[dict[str, Any]]:
    """Put a hub with these splits in place of the real one; returns the calls that it gets."""
    calls: list[dict[str, Any]] = []

    def load_dataset(path: str, **settings: Any) -> Any:
        calls.append({"path": path, **settings})
        return datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in splits.items()})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_hub_rows_are_the_same_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test, shots = make_rows(RUSSIAN_REGIONS, rows_per_type=2)
    rows = {"test": [with_prompts(RUSSIAN_REGIONS, {**row, "outputs": ""}) for row in test],
            "shots": [with_prompts(RUSSIAN_REGIONS, row) for row in shots]}  # fmt: skip
    local = write_data(tmp_path, answers=False, rows_per_type=2, benchmarks=(RUSSIAN_REGIONS,))
    calls = hub(monkeypatch, **rows)
    absent = [row["inputs"].get("region") for row in datasets.load_dataset("anything")["test"].to_list()]
    assert absent[0] is None, "a column holds None where a row lacks the field"
    assert documents(load(RUSSIAN_REGIONS)) == documents(load(RUSSIAN_REGIONS, data=local))
    assert calls[1:] == [{"path": "MERA-evaluation/RussianRegions", "revision": None}]


def test_hub_rows_without_outputs_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, test=[riddle(1, None), riddle(2, "")])
    loaded = load(RIDDLES_CLOSED)
    assert loaded["test"]["outputs"][:] == ["", ""]
    assert len(loaded["shots"]) == 0


def test_the_hubs_revision_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = hub(monkeypatch, test=[riddle(1)])
    monkeypatch.setenv("MERA_RU_REVISION", "v1")
    harness.load(mera_ru_benchmark="riddles_closed")
    harness.load(mera_ru_benchmark="riddles_closed", mera_ru_revision="v2")
    assert [call["revision"] for call in calls] == ["v1", "v2"]


def test_faults_of_hub_data_name_dataset_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, test=[riddle(1), riddle(1)])
    with pytest.raises(DataError) as caught:
        load(RIDDLES_CLOSED, revision="v1")
    assert str(caught.value).startswith(
        "MERA-evaluation/Riddles@v1, split test, row 2 (id 1), field `meta.id`: the id stands already in "
        "MERA-evaluation/Riddles@v1, split test, row 1."
    )
    hub(monkeypatch, shots=[riddle(1)])
    with pytest.raises(DataError, match=r"^The dataset MERA-evaluation/Riddles has no split `test`\. Name a revision"):
        load(RIDDLES_CLOSED)


def test_the_open_riddles_are_not_on_the_hub() -> None:
    with pytest.raises(DataError) as caught:
        load(RIDDLES_OPEN)
    assert str(caught.value) == (
        "Riddles (open set) is not on the hub. "
        "Set MERA_RU_DATA to a folder with a folder `riddles_open` that holds test.json."
    )


WAYS_OUT = (
    "Three ways out: give this machine access to the hub, or a mirror of it with HF_ENDPOINT, and HF_TOKEN if the "
    "dataset asks for one; or set MERA_RU_DATA to a folder that holds a copy in a folder `riddles_closed`; "
    "or run the tasks on the data that the package ships, `--tasks mera_ru_sample`, which need no network."
)


def hub_errors() -> list[Exception]:
    """What `load_dataset` was seen to raise, by kind: no network, no access, broken replies, broken files."""
    from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError
    from huggingface_hub.errors import HTTPError

    return [
        ConnectionError("Couldn't reach the Hub"), DatasetNotFoundError("is a gated dataset"),
        DatasetGenerationError("An error occurred while generating the dataset"), HTTPError("Server disconnected"),
        TimeoutError(), OSError(28, "No space left on device"), ValueError("Couldn't infer the format"),
        RuntimeError("Cannot send a request"), pa.ArrowInvalid("no Parquet file"),
    ]  # fmt: skip


@pytest.mark.parametrize("error", hub_errors(), ids=lambda error: type(error).__name__)
def test_whatever_fails_on_the_hub_names_the_ways_out(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError) as caught:
        load(RIDDLES_CLOSED, revision="v1")
    text = str(caught.value)
    assert text.startswith(
        f"The dataset MERA-evaluation/Riddles at revision v1 could not be loaded from the hub ({type(error).__name__}: "
    )
    assert text.endswith(WAYS_OUT)


# The second waits for no retry: there is nothing to wait for behind a closed port.
OFFLINE = {
    "offline": ({"HF_HUB_OFFLINE": "1"}, ""),
    "unreachable": ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "import time; time.sleep = lambda seconds: None; "),
}


@pytest.mark.parametrize("case", OFFLINE)
def test_without_network_and_local_data_a_program_ends_with_the_message(tmp_path: Path, case: str) -> None:
    settings, before = OFFLINE[case]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MERA_RU_"))}
    program = f"{before}from mera_ru_tasks.harness import load; load(mera_ru_benchmark='riddles_closed')"
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**environment, **settings, "HF_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("Error: The dataset MERA-evaluation/Riddles could not be loaded from the hub (")
    assert last.endswith(WAYS_OUT)
    assert "Traceback" not in ended.stderr
