"""Archives of any maker, checked."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.archives import OTHER_DATE


def edit_rows(change: Callable[[list[Any]], Any]) -> Callable[[dict[str, bytes]], None]:
    def apply(entries):
        content = json.loads(entries["Riddles.json"])
        change(content["data"]["test"])
        entries["Riddles.json"] = json.dumps(content).encode()

    return apply


def put(name: str, content: bytes) -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({name: content})


def move(name: str, to: str) -> Callable[[dict[str, bytes]], None]:
    return lambda entries: entries.update({to: entries.pop(name)})


def pack(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def edit_logs(change: Callable[[dict[str, bytes]], Any]) -> Callable[[dict[str, bytes]], None]:
    def apply(entries):
        with zipfile.ZipFile(io.BytesIO(entries["logs_public.zip"])) as archive:
            logs = {name: archive.read(name) for name in archive.namelist()}
        change(logs)
        entries["logs_public.zip"] = pack(logs)

    return apply


def drop_logs(prefix: str) -> Callable[[dict[str, bytes]], None]:
    return edit_logs(lambda logs: [logs.pop(name) for name in list(logs) if name.startswith(prefix)])


BAD_ARCHIVES: dict[str, tuple[Callable[[dict[str, bytes]], Any], str]] = {
    "a missing task": (lambda entries: entries.pop("Riddles.json"), "Riddles: Riddles.json: it is not in the archive"),
    "a folder": (move("Riddles.json", "sub/Riddles.json"), "it must be called Riddles.json and lie in no folder"),
    "another case": (move("Riddles.json", "riddles.JSON"), "it must be called Riddles.json"),
    "a name that leads out": (put("../x", b""), "'../x': its name leads out of the archive"),
    "an absolute name": (put("/etc/x", b""), "'/etc/x': its name leads out"),
    "a Windows name": (put("C:\\x", b""), "its name leads out"),
    "no JSON": (put("Riddles.json", b"{"), "not valid JSON in UTF-8"),
    "a byte-order mark": (lambda e: e.update({"Riddles.json": b"\xef\xbb\xbf" + e["Riddles.json"]}), "not valid JSON"),
    "another encoding": (put("Riddles.json", "«ж»".encode("cp1251")), "not valid JSON in UTF-8"),
    "nested too deeply": (put("Riddles.json", b"[" * 200_000), "not valid JSON"),
    "a list": (put("Riddles.json", b"[]"), "it has not the form"),
    "no data": (put("Riddles.json", b"{}"), "it has not the form"),
    "no test": (put("Riddles.json", b'{"data": []}'), "it has not the form"),
    "test as an object": (put("Riddles.json", b'{"data": {"test": {}}}'), "it has not the form"),
    "no rows": (put("Riddles.json", b'{"data": {"test": []}}'), "/Riddles/test.json (500 of 500)"),
    "a missing id": (edit_rows(lambda rows: rows.pop(3)), "/Riddles/test.json (1 of 500)"),
    "an id twice": (edit_rows(lambda rows: rows.append(rows[3])), "id 4 stands twice, the second time in entry 501"),
    "a foreign id": (edit_rows(lambda rows: rows[3]["meta"].update(id=999)), "test.json: id 999. Run"),
    "an id as text": (edit_rows(lambda rows: rows[3]["meta"].update(id="4")), "entry 4 has no integer `meta.id`"),
    "an id as truth value": (edit_rows(lambda rows: rows[3]["meta"].update(id=True)), "entry 4 has no integer"),
    "no meta": (edit_rows(lambda rows: rows[3].pop("meta")), "entry 4 has no integer `meta.id`"),
    "an entry that is no object": (edit_rows(lambda rows: rows.__setitem__(3, "x")), "entry 4 has no integer"),
    "no outputs": (edit_rows(lambda rows: rows[3].pop("outputs")), "id 4 (entry 4) has no `outputs`"),
    "outputs null": (edit_rows(lambda rows: rows[3].update(outputs=None)), "of id 4 (entry 4) is no string: null"),
    "outputs a list": (edit_rows(lambda rows: rows[3].update(outputs=["x"])), "(entry 4) is no string"),
    "other responses than logged": (edit_rows(lambda rows: rows[3].update(outputs="x")), "than in the log: id 4"),
    "no logs": (lambda entries: entries.pop("logs_public.zip"), "logs_public.zip: it is not in the archive"),
    "logs that are no zip": (put("logs_public.zip", b"x"), "logs_public.zip is no zip archive"),
    "no sample logs": (drop_logs("samples_"), "it holds no log samples_TASK_DATE.jsonl"),
    "no results log": (drop_logs("results_"), "it holds no log results_DATE.json"),
    "logs that lead out": (edit_logs(lambda logs: logs.update({"a/../../x": b""})), "'a/../../x': its name leads out"),
    "a broken sample log": (
        edit_logs(lambda logs: logs.update({f"samples_riddles_closed_{OTHER_DATE}.jsonl": b"{\n"})), "line 1: it is",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_a_bad_archive_is_refused_whoever_made_it(case, good, data, mera_ru, tmp_path):
    entries = dict(good)
    BAD_ARCHIVES[case][0](entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    known = ["--data", data] if "test.json" in BAD_ARCHIVES[case][1] else []
    outcome = mera_ru("submit", "--check", "bad.zip", *known)
    assert outcome.status == 1 and "bad.zip is not fit for submission" in outcome.out
    assert BAD_ARCHIVES[case][1] in outcome.out


@pytest.mark.parametrize(
    ("mark", "offset", "byte"),
    [(b"PK\x01\x02", 6, 99), ("ж".encode(), 0, 0xFF)],
    ids=["a form from the future", "a name in no encoding"],
)
def test_an_archive_that_python_cannot_open_is_named(mark, offset, byte, mera_ru, tmp_path):
    content = bytearray(pack({"жук.txt": b""}))
    content[content.rindex(mark) + offset] = byte
    (tmp_path / "bad.zip").write_bytes(content)
    outcome = mera_ru("submit", "--check", "bad.zip")
    assert (outcome.status, outcome.err.startswith("Error: bad.zip is no zip archive (")) == (1, True)


def test_an_archive_of_another_maker_is_accepted(good, data, mera_ru, tmp_path):
    entries = {name: good[name] for name in reversed(list(good))} | {"README.txt": b"notes"}
    edit_logs(lambda logs: [logs.update({f"org__m/{name}": logs.pop(name)}) for name in list(logs)])(entries)
    (tmp_path / "other.zip").write_bytes(pack(entries))
    assert mera_ru("submit", "--check", "other.zip", "--data", data).status == 0


def test_without_data_a_submission_is_counted(good, mera_ru, tmp_path):
    entries = dict(good)
    edit_rows(lambda rows: rows.pop(3))(entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    assert "499 ids are answered; Riddles has 500" in mera_ru("submit", "--check", "bad.zip").out


def test_an_entry_twice_or_damaged_is_refused(good, mera_ru, tmp_path):
    stream = io.BytesIO(pack(good))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("Riddles.json", good["Riddles.json"])
    (tmp_path / "twice.zip").write_bytes(stream.getvalue())
    assert "it stands 2 times in the archive" in mera_ru("submit", "--check", "twice.zip").out
    whole = bytearray(pack(good))
    middle = len(whole) // 3
    whole[middle : middle + 200] = bytes(200)
    (tmp_path / "damaged.zip").write_bytes(whole)
    assert "it cannot be unpacked" in mera_ru("submit", "--check", "damaged.zip").out
