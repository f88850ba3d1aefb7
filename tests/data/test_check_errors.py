"""`mera-ru data check` finds every error in files and counts the valid rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.data.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED
from mera_ru_tasks.data.lint import check_data
from mera_ru_tasks.data.load import Source, load
from mera_ru_tasks.issues import DataError, errors
from tests.support.broken_data import broken, report_of
from tests.support.properties import at_least
from tests.support.rows import data_folder
from tests.support.synthetic import make_prompts, make_rows, write_data


def edit(name: str, content: Callable[[bytes], bytes] | bytes) -> Callable[[Path], Any]:
    def change(folder):
        file = folder / name
        file.write_bytes(content if isinstance(content, bytes) else content(file.read_bytes()))

    return change


def with_sums(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "SHA256SUMS").write_text(text)


def in_cp1251(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), ensure_ascii=False).encode("cp1251")


# The damage to the folder, the code of the issue, and the file in its location or message.
BROKEN_FILES: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "a cut file": (edit("test.json", lambda raw: raw[:-9]), "unreadable", "test.json"),
    "an old encoding": (edit("test.json", in_cp1251), "unreadable", "test.json"),
    "no rows key": (edit("test.json", b'{"rows": []}'), "unreadable", "test.json"),
    "no rows": (edit("test.json", b'{"data": []}'), "no-rows", "test.json"),
    "no test": (lambda folder: (folder / "test.json").unlink(), "missing-split", "Riddles"),
    "the test twice": (edit("test.jsonl", b"{}"), "unreadable", "test.jsonl"),
    "no prompts file": (lambda folder: (folder / "dataset_meta.json").unlink(), "unreadable", "dataset_meta.json"),
    "prompts of another form": (edit("dataset_meta.json", b'{"prompts": {}}'), "unreadable", "dataset_meta.json"),
    "broken shots": (edit("shots.json", b"["), "unreadable", "shots.json"),
    "a changed file": (with_sums("0" * 64 + "  test.json\n"), "changed-file", "test.json"),
    "a missing file": (with_sums("0" * 64 + "  lost.json\n"), "missing-file", "lost.json"),
    "a checksum of a file elsewhere": (with_sums("0" * 64 + "  ../x\n"), "invalid-checksum", "SHA256SUMS"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_each_broken_file_is_found_and_named(case, mera_ru, tmp_path):
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, lambda test, shots: None)
    change, code, file = BROKEN_FILES[case]
    change(folder)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1
    [issue] = [issue for issue in report_of(outcome)["issues"] if issue["code"] == code]
    assert issue["severity"] == "error" and file in f"{issue['location']['file']} {issue['message']}"
    assert mera_ru("data", "check", folder).status == 1


def test_clean_data_of_full_size_raise_nothing_and_are_counted(mera_ru, tmp_path):
    write_data(tmp_path / "data")
    outcome = mera_ru("data", "check", tmp_path / "data", "--format", "json")
    assert outcome.status == 0
    reports = {report["benchmark"]: report for report in json.loads(outcome.out)}
    assert all(report["issues"] == [] for report in reports.values())
    counts = reports["enantiosemy"]["statistics"]
    assert counts["rows"] == {"test": 506, "shots": 12} and counts["closed"] == {"test": 0, "shots": 0}
    assert counts["types"]["3"] == {"test": 18, "shots": 3, "card": 18}
    assert counts["prompts"]["2"] == [38, 38, 38, 37, 37]
    test, _ = make_rows(ENANTIOSEMY)
    assert counts["letters"] == {letter: sum(letter in row["outputs"] for row in test) for letter in "АБВГДЕ"}
    assert sum(counts["answers"].values()) == 506
    assert set(reports["riddles_closed"]["statistics"]["answers"]) == {str(number) for number in range(1, 12)}
    assert reports["russian_regions"]["statistics"]["groups"] == {"3": 201}
    assert "letters" not in reports["riddles_closed"]["statistics"]


def test_closed_answers_are_no_problem_and_the_shots_are_counted_instead(mera_ru, tmp_path):
    write_data(tmp_path, answers=False, rows_per_type=5, benchmarks=(ENANTIOSEMY,))
    counts = report_of(mera_ru("data", "check", tmp_path, "--format", "json"))["statistics"]
    assert (counts["closed"], counts["answers_of"]) == ({"test": 20, "shots": 0}, "shots")
    assert sum(counts["answers"].values()) == 12


def test_every_error_is_listed_and_invalid_rows_are_not_counted(mera_ru, tmp_path):
    def change(test, shots):
        for row in test[::2]:
            row["outputs"] = "x"
        test[1]["meta"]["type"] = 8

    folder = broken(tmp_path / "data", ENANTIOSEMY, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    report = report_of(outcome)
    found = [issue["location"]["row"] for issue in report["issues"] if issue["severity"] == "error"]
    assert found == [1, 2, 3, 5, 7, 9, 11, 13, 15]
    assert report["statistics"]["rows"] == {"test": 7, "shots": 12}
    assert mera_ru("data", "check", folder).out.count("the unknown letter") == 8


# pyarrow refuses a field with integers and fractions only if an integer is larger than 2**53.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text() | st.just("{question}\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
PATHS = st.sampled_from(
    [
        (),
        ("instruction",),
        ("inputs",),
        ("inputs", "option_a"),
        ("outputs",),
        ("meta",),
        ("meta", "id"),
        ("meta", "group_id"),
        ("meta", "own"),
    ]
)


@given(st.sampled_from(sorted(BENCHMARKS)), PATHS, VALUES, VALUES)
@at_least(150)
def test_a_run_stops_exactly_if_an_error_is_reported(tmp_path_factory, name, path, value, own):
    benchmark = BENCHMARKS[name]
    test, shots = make_rows(benchmark, rows_per_type=2)
    test[0]["meta"]["own"] = own
    if path:
        place = test[1]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    else:
        test[1] = value
    root = data_folder(tmp_path_factory.mktemp("data"), name, test, shots, make_prompts(benchmark))
    report = check_data(Source(benchmark, root / name))
    json.dumps(report.as_json())
    try:
        load(benchmark, data=root)
    except DataError as error:
        assert errors(report.issues), error
    else:
        assert not errors(report.issues)
