"""Every fault of a file has its message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mera_ru_tasks.data.benchmarks import RIDDLES_CLOSED
from tests.support.load import message, write_saved_dict
from tests.support.rows import data_folder, riddle

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
        ("test.json", '{"data": [{"instruction": "Сн'.encode()[:-1],
         "ends inside a character, so it is cut. ", "Copy it again, whole."),
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
