"""Every file format gives the same documents, and documents contain what their task needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.data.lint import check_data
from mera_ru_tasks.data.load import find_source, load
from tests.support.load import HUB, Splits, documents, write_saved_dict, write_shards
from tests.support.rows import Row, data_folder, enantiosemy, region, riddle
from tests.support.synthetic import make_rows, with_prompt_text, write_data


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
    FORMS[form](folder, {"test": [with_prompt_text(benchmark, row) for row in test],
                         "shots": [with_prompt_text(benchmark, row) for row in shots]})  # fmt: skip
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
        "answer_format": {"choices": "АБВГ", "max_choices": 1, "with_phrase": True},
    }  # fmt: skip
    assert (
        loaded["test"][1]["inputs"] | {"introduction": "", "lang_unit": "", "example_text": ""}
        == (loaded["test"][1]["inputs"])
    ), "inputs that only other rows have are empty"
    assert loaded["test"][1]["answer_format"] == {"choices": "АБВГ", "max_choices": 1, "with_phrase": False}
    assert len(loaded["shots"]) == 0
    assert loaded["shots"].features == loaded["test"].features


def test_further_keys_of_a_file_are_a_warning(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    (root / "riddles" / "test.json").write_text(json.dumps({"access": "private", "data": [riddle(1)]}))
    found = [(issue.code, issue.severity) for issue in check_data(find_source(RIDDLES_CLOSED, root)).issues]
    assert ("further-keys", "warning") in found and len(load(RIDDLES_CLOSED, data=root)["test"]) == 1


def test_a_rows_own_block_wins_over_its_prompts(tmp_path: Path) -> None:
    prompt = {"instruction": "{task_formulation}", "task_formulation": "из промпта"}
    own, empty = region(1) | {"instruction": 0}, region(2) | {"instruction": 0}
    empty["inputs"] |= {"task_formulation": ""}
    root = data_folder(tmp_path, "russian_regions", [own, empty], prompts=[prompt])
    shown = [doc["inputs"]["task_formulation"] for doc in load(RUSSIAN_REGIONS, data=root)["test"]]
    assert shown == ["Задание 1.", "из промпта"]


def test_full_size_data_load_whole(tmp_path: Path) -> None:
    root = write_data(tmp_path, answers=False)
    sizes = {benchmark.name: len(load(benchmark, data=root)["test"]) for benchmark in HUB}
    assert sizes == {"enantiosemy": 506, "riddles_closed": 500, "russian_regions": 603}


def test_fields_of_the_users_own_are_kept(tmp_path: Path) -> None:
    rows = [riddle(1, source="книга", year=1900, tags=["a"]), riddle(2, year=1900.5, more={"of": {"it": None}})]
    loaded = load(RIDDLES_CLOSED, data=data_folder(tmp_path, "riddles", rows))["test"]
    assert [doc["meta"]["year"] for doc in loaded] == [1900, 1900.5]
    assert [doc["meta"]["tags"] for doc in loaded] == [["a"], None]


@pytest.mark.parametrize("closed", ["", "  ", None])
@pytest.mark.parametrize("make", [enantiosemy, riddle, region])
def test_closed_answers_are_no_fault(tmp_path: Path, make: Callable[..., Row], closed: str | None) -> None:
    benchmark = {enantiosemy: ENANTIOSEMY, riddle: RIDDLES_CLOSED, region: RUSSIAN_REGIONS}[make]
    root = data_folder(tmp_path, benchmark.name, [make(1, closed), make(2)])
    assert len(load(benchmark, data=root)["test"]) == 2
