"""An error in an unreadable file names the file and the line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mera_ru_tasks.data.benchmarks import RIDDLES_CLOSED
from mera_ru_tasks.data.lint import check_data
from mera_ru_tasks.data.load import find_source
from mera_ru_tasks.issues import Location, errors
from tests.support.load import message, write_saved_dict
from tests.support.rows import data_folder, riddle

TEXT = json.dumps({"data": [riddle(1, "Снег")]}, ensure_ascii=False, indent=1)
LINE = json.dumps(riddle(1, "Снег"), ensure_ascii=False)


# The name and content of the file, and the texts that the message must contain.
BROKEN: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("test.json", b"", ("line 1, column 1",)),
    ("test.json", b'{"data": [\n  {"instruction" "a"}\n]}', ("line 2, column 18",)),
    ("test.json", TEXT.encode()[:-2], ("line 13, column 3",)),
    ("test.json", f"{LINE}\n{LINE}".encode(), ("line 2, column 1",)),
    ("test.jsonl", f"{LINE}\n\n{{'instruction'".encode(), ("line 3, column 2",)),
    ("test.jsonl", f"{LINE}\n{LINE[:30]}".encode(), ("line 2, column 17",)),
    *(("test.json", content, ('{"data": [row, …]}',))
      for content in (b'{"data": {"test": []}}', b'{"rows": []}', b'"data"')),
    ("test.json", b'{"data": []}', ("contains no rows", "Riddles")),
    ("test.jsonl", b"\n\n", ("contains no rows", "Riddles")),
    ("test.json", '{"data": [{"instruction": "Сн'.encode()[:-1], ("incomplete",)),
    ("test.json", TEXT.encode("utf-16"), ("byte 0, line 1", "iconv -f UTF-16 -t UTF-8")),
    ("test.json", TEXT.encode("utf-16-le"), ("byte 120, line 4", "iconv -f UTF-16 -t UTF-8")),
    ("test.json", TEXT.encode("cp1251"), ("byte 36, line 4", "iconv -f CP1251 -t UTF-8")),
    ("test.jsonl", f"{LINE}\n".encode() + LINE.encode("cp1251"), ("byte 206, line 2", "iconv -f CP1251")),
    ("test.json", b'{"data": [' + b"[" * 100_000, ("nested too deeply",)),
    ("test.jsonl", f"{LINE}\n".encode() + b'{"meta": {"id": ' + b"9" * 5000 + b"}}", ("line 2", "too many digits")),
    *(("test.parquet", content, ("Parquet",)) for content in (b"", b"PAR1 and nothing else")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "expected"), BROKEN, ids=range(len(BROKEN)))
def test_a_broken_file(tmp_path: Path, name: str, content: bytes, expected: tuple[str, ...]) -> None:
    folder = tmp_path / "riddles"
    folder.mkdir()
    (folder / name).write_bytes(content)
    text = message(tmp_path, RIDDLES_CLOSED)
    assert text.startswith(f"ROOT/riddles/{name}")
    assert all(words in text for words in expected), text


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])

    def refuse(path: Path, mode: str) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read every file
    text = message(root, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles/test.json ") and "Permission denied" in text


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


META, ROW = "ROOT/riddles/dataset_meta.json", "ROOT/riddles/test.json, row 1 (id 1), field `instruction`: "
BROKEN_PROMPTS: list[tuple[str | None, str, str]] = [
    (None, META, "is missing"),
    ("{", META, "line 1, column 2"),
    *((json.dumps(bad), f"{META}, field `prompts`: ", "list of prompts")
      for bad in ([], {}, {"prompts": None}, {"prompts": "a"}, {"prompts": [1]}, {"prompts": [{"text": "a"}]})),
    ('{"prompts": []}', ROW, "no prompt 2; it contains no prompts"),
    ('{"prompts": ["a", "b"]}', ROW, "no prompt 2; it has prompts 0 to 1"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "place", "words"), BROKEN_PROMPTS, ids=range(len(BROKEN_PROMPTS)))
def test_broken_prompts(tmp_path: Path, content: str | None, place: str, words: str) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1) | {"instruction": 2}])
    if content is not None:
        (root / "riddles" / "dataset_meta.json").write_text(content)
    text = message(root, RIDDLES_CLOSED)
    assert text.startswith(place) and words in text


@pytest.mark.parametrize("index", [-1, 1, 2**70])
def test_an_index_without_a_prompt(tmp_path: Path, index: int) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1) | {"instruction": index}], prompts=["a"])
    [issue] = errors(check_data(find_source(RIDDLES_CLOSED, root)).issues)
    file = str(root / "riddles" / "test.json")
    assert (issue.code, issue.location) == ("unknown-prompt", Location(file, 1, 1, "instruction"))
