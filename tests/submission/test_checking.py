"""Check archives created by any tool."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest

from mera_ru_tasks.issues import errors
from mera_ru_tasks.submission.check import check_archive
from tests.support.archives import OTHER_DATE, mera_archive, pack


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


def edit_logs(change: Callable[[dict[str, bytes]], Any]) -> Callable[[dict[str, bytes]], None]:
    def apply(entries):
        with zipfile.ZipFile(io.BytesIO(entries["logs_public.zip"])) as archive:
            logs = {name: archive.read(name) for name in archive.namelist()}
        change(logs)
        entries["logs_public.zip"] = pack(logs)

    return apply


def drop_logs(prefix: str) -> Callable[[dict[str, bytes]], None]:
    return edit_logs(lambda logs: [logs.pop(name) for name in list(logs) if name.startswith(prefix)])


# The change to the archive, the code of the issue, and the texts that the issue must contain.
BAD_ARCHIVES: dict[str, tuple[Callable[[dict[str, bytes]], Any], str, str]] = {
    "a folder": (move("Riddles.json", "sub/Riddles.json"), "wrong-name", "must be Riddles.json"),
    "another case": (move("Riddles.json", "riddles.JSON"), "wrong-name", "must be Riddles.json"),
    "a name that leads out": (put("../x", b""), "escaping-name", "'../x'"),
    "an absolute name": (put("/etc/x", b""), "escaping-name", "'/etc/x'"),
    "a Windows name": (put("C:\\x", b""), "escaping-name", "x'"),
    "no JSON": (put("Riddles.json", b"{"), "invalid-json", "Riddles.json"),
    "a byte-order mark": (
        lambda e: e.update({"Riddles.json": b"\xef\xbb\xbf" + e["Riddles.json"]}), "invalid-json", "Riddles.json",
    ),
    "another encoding": (put("Riddles.json", "«ж»".encode("cp1251")), "invalid-json", "Riddles.json"),
    "nested too deeply": (put("Riddles.json", b"[" * 200_000), "invalid-json", "Riddles.json"),
    "a list": (put("Riddles.json", b"[]"), "wrong-form", "Riddles.json"),
    "no data": (put("Riddles.json", b"{}"), "wrong-form", "Riddles.json"),
    "no test": (put("Riddles.json", b'{"data": []}'), "wrong-form", "Riddles.json"),
    "test as an object": (put("Riddles.json", b'{"data": {"test": {}}}'), "wrong-form", "Riddles.json"),
    "no rows": (put("Riddles.json", b'{"data": {"test": []}}'), "missing-ids", "500 of the 500 rows"),
    "a missing id": (edit_rows(lambda rows: rows.pop(3)), "missing-ids", "1 of the 500 rows"),
    "an id twice": (edit_rows(lambda rows: rows.append(rows[3])), "duplicate-id", "entry 501"),
    "a foreign id": (edit_rows(lambda rows: rows[3]["meta"].update(id=999)), "foreign-ids", "not contain id 999."),
    "an id as text": (edit_rows(lambda rows: rows[3]["meta"].update(id="4")), "missing-id", "entry 4"),
    "an id as truth value": (edit_rows(lambda rows: rows[3]["meta"].update(id=True)), "missing-id", "entry 4"),
    "no meta": (edit_rows(lambda rows: rows[3].pop("meta")), "missing-id", "entry 4"),
    "an entry that is no object": (edit_rows(lambda rows: rows.__setitem__(3, "x")), "missing-id", "entry 4"),
    "no outputs": (edit_rows(lambda rows: rows[3].pop("outputs")), "missing-outputs", "id 4 (entry 4)"),
    "outputs null": (edit_rows(lambda rows: rows[3].update(outputs=None)), "wrong-type", "id 4 (entry 4)"),
    "outputs a list": (edit_rows(lambda rows: rows[3].update(outputs=["x"])), "wrong-type", "(entry 4)"),
    "logs that lead out": (edit_logs(lambda logs: logs.update({"a/../../x": b""})), "escaping-name", "'a/../../x'"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_ARCHIVES)
def test_a_bad_archive_is_refused_whoever_made_it(case, good, data, mera_ru, tmp_path):
    change, code, words = BAD_ARCHIVES[case]
    entries = dict(good)
    change(entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    found = errors(check_archive(tmp_path / "bad.zip", data).issues)
    assert any(issue.code == code and words in str(issue) for issue in found), found
    if code == "missing-outputs":  # one case with the command is enough
        outcome = mera_ru("submit", "--check", "bad.zip", "--data", data)
        assert outcome.status == 1 and str(found[0]) in outcome.out and "not ready for submission" in outcome.out


# Contents that the scorer ignores or accepts.
TOLERATED: dict[str, tuple[Callable[[dict[str, bytes]], Any], str, str]] = {
    "a missing task": (lambda entries: entries.pop("Riddles.json"), "missing-task", "Riddles"),
    "other responses than logged": (edit_rows(lambda rows: rows[3].update(outputs="x")), "other-responses", "id 4 "),
    "no logs": (lambda entries: entries.pop("logs_public.zip"), "missing-entry", "logs_public.zip"),
    "logs that are no zip": (put("logs_public.zip", b"x"), "damaged-entry", "logs_public.zip"),
    "no sample logs": (drop_logs("samples_"), "missing-logs", "samples_TASK_DATE.jsonl"),
    "no results log": (drop_logs("results_"), "missing-logs", "results_DATE.json"),
    "a broken sample log": (
        edit_logs(lambda logs: logs.update({f"samples_riddles_closed_{OTHER_DATE}.jsonl": b"{\n"})),
        "damaged-log", "line 1: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLERATED)
def test_a_disagreement_with_the_logs_or_a_missing_task_is_a_warning(case, good, data, tmp_path):
    change, code, words = TOLERATED[case]
    entries = dict(good)
    change(entries)
    (tmp_path / "odd.zip").write_bytes(pack(entries))
    issues = check_archive(tmp_path / "odd.zip", data).issues
    assert not errors(issues)
    assert any(issue.code == code and issue.severity == "warning" and words in str(issue) for issue in issues), issues


def test_an_archive_without_any_task_is_refused(good, tmp_path):
    (tmp_path / "bad.zip").write_bytes(pack({"logs_public.zip": good["logs_public.zip"]}))
    assert [issue.code for issue in errors(check_archive(tmp_path / "bad.zip").issues)] == ["no-tasks"]


@pytest.mark.parametrize("whole", [False, True], ids=["three tasks", "twelve tasks"])
def test_an_archive_of_meras_own_packer_is_accepted(whole, good, data, mera_ru, tmp_path):
    (tmp_path / "mera.zip").write_bytes(pack(mera_archive(good, whole=whole)))
    issues = check_archive(tmp_path / "mera.zip", data).issues
    assert {issue.code for issue in issues} == ({"ids-unchecked"} if whole else {"missing-task"})
    assert mera_ru("submit", "--check", "mera.zip", "--data", data).status == 0


def test_the_sizes_of_all_twelve_tasks_are_known(good, data, tmp_path):
    entries = mera_archive(good, whole=True)
    rows = json.loads(entries["LIMUR.json"])["data"]["test"]
    for number, count in ((1, 422), (2, 424)):
        changed = rows[:-1] if number == 1 else [*rows, {"outputs": "", "meta": {"id": 424}}]
        entries["LIMUR.json"] = json.dumps({"data": {"test": changed}}).encode()
        (tmp_path / "bad.zip").write_bytes(pack(entries))
        [issue] = errors(check_archive(tmp_path / "bad.zip", data).issues)
        assert issue.location.startswith("LIMUR: ") and f"{count} responses" in issue.message and "423" in issue.message


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
    assert (outcome.status, outcome.err.startswith("Error: bad.zip is not a zip archive (")) == (1, True)


def test_an_archive_of_another_maker_is_accepted(good, data, mera_ru, tmp_path):
    entries = {name: good[name] for name in reversed(list(good))} | {"README.txt": b"notes"}
    edit_logs(lambda logs: [logs.update({f"org__m/{name}": logs.pop(name)}) for name in list(logs)])(entries)
    (tmp_path / "other.zip").write_bytes(pack(entries))
    assert mera_ru("submit", "--check", "other.zip", "--data", data).status == 0


def test_without_data_a_submission_is_counted(good, mera_ru, tmp_path):
    entries = dict(good)
    edit_rows(lambda rows: rows.pop(3))(entries)
    (tmp_path / "bad.zip").write_bytes(pack(entries))
    assert "it contains 499 responses, but Riddles has 500 test rows" in mera_ru("submit", "--check", "bad.zip").out


def test_an_entry_twice_or_damaged_is_refused(good, mera_ru, tmp_path):
    stream = io.BytesIO(pack(good))
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("Riddles.json", good["Riddles.json"])
    (tmp_path / "twice.zip").write_bytes(stream.getvalue())
    assert "the archive contains 2 entries with this name" in mera_ru("submit", "--check", "twice.zip").out
    whole = bytearray(pack(good))
    middle = len(whole) // 3
    whole[middle : middle + 200] = bytes(200)
    (tmp_path / "damaged.zip").write_bytes(whole)
    assert "it cannot be unpacked" in mera_ru("submit", "--check", "damaged.zip").out
