"""`mera-ru data check`: every fault is found and named, and what is sound is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.data.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, Benchmark
from mera_ru_tasks.data.load import load
from mera_ru_tasks.data.report import look_over
from mera_ru_tasks.data.sources import Source
from mera_ru_tasks.errors import DataError
from tests.support.broken_data import Change, broken, put, report_of
from tests.support.command import Command
from tests.support.properties import at_least
from tests.support.row_faults import FAULTS, whole_message, write_fault
from tests.support.rows import data_folder
from tests.support.synthetic import make_prompts, make_rows, write_data


@pytest.mark.parametrize(("benchmark", "row", "expected"), FAULTS, ids=range(len(FAULTS)))
def test_each_broken_row_is_found_and_named(
    tmp_path: Path, mera_ru: Command, benchmark: Benchmark, row: Any, expected: str
) -> None:
    folder = write_fault(tmp_path / "data", benchmark, row) / benchmark.name
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1 and outcome.err == ""
    [problem] = report_of(outcome)["problems"]
    identity = "" if problem["id"] is None else f" (id {problem['id']})"
    said = f"{problem['place']}, row {problem['row']}{identity}, field `{problem['field']}`: {problem['what']}. "
    assert (said + problem["remedy"]).replace(str(tmp_path / "data"), "ROOT") == whole_message(benchmark, expected)


# Faults of a row that are found only beside other rows or files: how it is made; split, row, field; words.
BROKEN_TOGETHER: dict[str, tuple[Change, tuple[str, int, str], str]] = {
    "a prompt that is not there": (put("instruction", 5), ("test", 2, "instruction"), "no prompt 5"),
    "a negative prompt": (put("instruction", -1), ("test", 2, "instruction"), "no prompt -1"),
    "an id of a shot": (
        lambda test, shots: shots[0]["meta"].update(id=2), ("shots", 1, "meta.id"), "test.json, row 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_TOGETHER)
def test_what_does_not_fit_together_is_found_and_named(case, mera_ru, tmp_path):
    change, (split, row, field), words = BROKEN_TOGETHER[case]
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    [problem] = report_of(outcome)["problems"]
    assert (outcome.status, problem["place"]) == (1, str(folder / f"{split}.json"))
    assert (problem["row"], problem["field"], words in problem["what"], bool(problem["remedy"])) == (
        row, field, True, True,
    )  # fmt: skip
    table = mera_ru("data", "check", folder)
    assert table.status == 1 and "1 problem\n" in table.out and field in table.out and words in table.out


def edit(name: str, content: Callable[[bytes], bytes] | bytes) -> Callable[[Path], Any]:
    def change(folder):
        file = folder / name
        file.write_bytes(content if isinstance(content, bytes) else content(file.read_bytes()))

    return change


def with_sums(text: str) -> Callable[[Path], Any]:
    return lambda folder: (folder / "SHA256SUMS").write_text(text)


def in_cp1251(raw: bytes) -> bytes:
    return json.dumps(json.loads(raw), ensure_ascii=False).encode("cp1251")


BROKEN_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a cut file": (edit("test.json", lambda raw: raw[:-9]), "test.json is not valid JSON: line"),
    "an old encoding": (edit("test.json", in_cp1251), "test.json is not UTF-8"),
    "no rows key": (edit("test.json", b'{"rows": []}'), "test.json holds no rows"),
    "no rows": (edit("test.json", b'{"data": []}'), "it holds no rows"),
    "no test": (lambda folder: (folder / "test.json").unlink(), "there is no split `test` (splits found: shots)"),
    "the test twice": (edit("test.jsonl", b"{}"), "holds the split `test` more than once: test.json, test.jsonl"),
    "no prompts file": (lambda folder: (folder / "dataset_meta.json").unlink(), "dataset_meta.json is missing"),
    "prompts of another form": (edit("dataset_meta.json", b'{"prompts": {}}'), "`prompts`: it is not a list"),
    "broken shots": (edit("shots.json", b"["), "shots.json is not valid JSON"),
    "a changed file": (with_sums("0" * 64 + "  test.json\n"), "it differs from its checksum"),
    "a missing file": (with_sums("0" * 64 + "  lost.json\n"), "it is missing, though SHA256SUMS names it"),
    "a checksum of a file elsewhere": (with_sums("0" * 64 + "  ../x\n"), "is no checksum of a file here"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_FILES)
def test_each_broken_file_is_found_and_named(case, mera_ru, tmp_path):
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, lambda test, shots: None)
    BROKEN_FILES[case][0](folder)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1
    assert any(BROKEN_FILES[case][1] in problem["what"] for problem in report_of(outcome)["problems"]), outcome.out


def test_clean_data_of_full_size_raise_nothing_and_are_counted(mera_ru, tmp_path):
    write_data(tmp_path / "data")
    outcome = mera_ru("data", "check", tmp_path / "data", "--format", "json")
    assert outcome.status == 0
    reports = {report["benchmark"]: report for report in json.loads(outcome.out)}
    assert all(report["problems"] == report["warnings"] == [] for report in reports.values())
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


def test_every_problem_is_listed_and_broken_rows_do_not_spoil_the_counts(mera_ru, tmp_path):
    def change(test, shots):
        for row in test[::2]:
            row["outputs"] = "x"
        test[1]["meta"]["type"] = 8

    folder = broken(tmp_path / "data", ENANTIOSEMY, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    report = report_of(outcome)
    assert [problem["row"] for problem in report["problems"]] == [1, 2, 3, 5, 7, 9, 11, 13, 15]
    assert report["statistics"]["rows"] == {"test": 7, "shots": 12}
    assert mera_ru("data", "check", folder).out.count("holds the unknown letter") == 8


# Beyond 2**53 an integer and a fraction in one field are refused by pyarrow alone.
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
def test_whatever_stands_in_a_row_a_run_refuses_it_where_a_problem_is_reported(
    tmp_path_factory, name, path, value, own
):
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
    report = look_over(Source(benchmark, root / name))
    json.dumps(report.as_json())
    try:
        load(benchmark, data=root)
    except DataError as error:
        assert report.problems, error
    else:
        assert not report.problems
