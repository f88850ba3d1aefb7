"""`mera-ru data check`: every fault is found and named, and what is sound is counted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from broken_data import Change, broken, put, report_of
from hypothesis import given
from hypothesis import strategies as st
from properties import at_least
from synthetic import make_prompts, make_rows, write_data, write_json

from mera_ru_tasks.benchmarks import BENCHMARKS, ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.inspection.report import look_over
from mera_ru_tasks.inspection.sources import Source


def drop(*path: Any) -> Change:
    def change(test, shots):
        place = test[1]
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


def replace(value: Any) -> Change:
    return lambda test, shots: test.__setitem__(1, value)


# What is wrong; in which benchmark; how; in which field it is found, and words of the finding.
BROKEN_ROWS: dict[str, tuple[Benchmark, Change, str, str]] = {
    "a row of text": (RIDDLES_CLOSED, replace("x"), "row", "it is a string, not an object"),
    "a row of nothing": (RIDDLES_CLOSED, replace(None), "row", "it is null"),
    "a list as row": (RIDDLES_CLOSED, replace([]), "row", "it is a list"),
    "no instruction": (RIDDLES_CLOSED, drop("instruction"), "instruction", "missing"),
    "an instruction null": (RIDDLES_CLOSED, put("instruction", None), "instruction", "it is null, not a string"),
    "an empty instruction": (RIDDLES_CLOSED, put("instruction", " \n"), "instruction", "empty"),
    "a prompt that is not there": (RIDDLES_CLOSED, put("instruction", 5), "instruction", "no prompt 5"),
    "a negative prompt": (RIDDLES_CLOSED, put("instruction", -1), "instruction", "no prompt -1"),
    "no inputs": (RIDDLES_CLOSED, drop("inputs"), "inputs", "missing"),
    "a list as inputs": (RIDDLES_CLOSED, put("inputs", []), "inputs", "it is a list, not an object"),
    "an input that is missing": (ENANTIOSEMY, drop("inputs", "option_f"), "inputs.option_f", "missing"),
    "an input that is empty": (ENANTIOSEMY, put("inputs", "text", " "), "inputs.text", "empty"),
    "an input that is null": (RUSSIAN_REGIONS, put("inputs", "option_a", None), "inputs.option_a", "empty"),
    "a number as input": (RIDDLES_CLOSED, put("inputs", "question", 7), "inputs.question", "an integer, not a string"),
    "no outputs": (RIDDLES_CLOSED, drop("outputs"), "outputs", "missing"),
    "a list as outputs": (RIDDLES_CLOSED, put("outputs", ["а"]), "outputs", "it is a list, not a string"),
    "no meta": (RIDDLES_CLOSED, drop("meta"), "meta", "missing"),
    "a text as meta": (RIDDLES_CLOSED, put("meta", "2"), "meta", "it is a string, not an object"),
    "no id": (RIDDLES_CLOSED, drop("meta", "id"), "meta.id", "missing"),
    "an id as text": (RIDDLES_CLOSED, put("meta", "id", "2"), "meta.id", "it is a string, not an integer"),
    "an id as truth value": (RIDDLES_CLOSED, put("meta", "id", True), "meta.id", "it is a boolean"),
    "a fraction as id": (RIDDLES_CLOSED, put("meta", "id", 2.5), "meta.id", "it is a number, not an integer"),
    "an id too large": (RIDDLES_CLOSED, put("meta", "id", 10**30), "meta.id", "too large"),
    "an id twice": (RIDDLES_CLOSED, put("meta", "id", 1), "meta.id", "stands already in"),
    "an id of a shot": (RIDDLES_CLOSED, lambda test, shots: shots[0]["meta"].update(id=2), "meta.id", "test.json, row"),
    "no type": (ENANTIOSEMY, drop("meta", "type"), "meta.type", "missing"),
    "an unknown type": (RUSSIAN_REGIONS, put("meta", "task_type", 4), "meta.task_type", "the type 4 is unknown"),
    "a type as text": (ENANTIOSEMY, put("meta", "type", "1"), "meta.type", "not an integer"),
    "no group": (RUSSIAN_REGIONS, drop("meta", "group_id"), "meta.group_id", "missing"),
    "a further field of two kinds": (
        RIDDLES_CLOSED, lambda test, shots: (test[0]["meta"].update(x="a"), test[1]["meta"].update(x=1)), "meta.x",
        "it is a number, but a string in",
    ),
    "no number": (RIDDLES_CLOSED, put("meta", "x", float("nan")), "meta.x", "nan, which is no number"),
    "half a character": (RIDDLES_CLOSED, put("inputs", "question", "я\ud83d"), "inputs.question", "half a character"),
    "a Latin letter": (ENANTIOSEMY, put("outputs", "A; Е"), "outputs", "unknown letter 'A' (a Latin letter)"),
    "a small letter": (ENANTIOSEMY, put("outputs", "а"), "outputs", "unknown letter 'а'"),
    "a letter too far": (ENANTIOSEMY, put("outputs", "А; Ж"), "outputs", "unknown letter 'Ж'"),
    "letters out of order": (ENANTIOSEMY, put("outputs", "Е; А"), "outputs", "out of order"),
    "a letter twice": (ENANTIOSEMY, put("outputs", "А; А"), "outputs", "a letter twice"),
    "another separator": (ENANTIOSEMY, put("outputs", "А,Б"), "outputs", "unknown letter 'А,Б'"),
    "two letters for one": (RUSSIAN_REGIONS, put("outputs", "А; Б"), "outputs", "holds 2 letters, at most 1 fit"),
    "no unit": (
        RUSSIAN_REGIONS, lambda test, shots: test[4].update(outputs="А"), "outputs", "lacks the language unit",
    ),
    "a riddle's answer without a word": (RIDDLES_CLOSED, put("outputs", "; …"), "outputs", "holds no word"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN_ROWS)
def test_each_broken_row_is_found_and_named(case, mera_ru, tmp_path):
    benchmark, change, field, words = BROKEN_ROWS[case]
    folder = broken(tmp_path / "data", benchmark, change)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    assert outcome.status == 1 and outcome.err == ""
    problems = report_of(outcome)["problems"]
    assert [(problem["field"], words in problem["what"], bool(problem["remedy"])) for problem in problems] == [
        (field, True, True)
    ], problems
    row = {"no unit": 5, "an id of a shot": 1}.get(case, 2)
    place = folder / ("shots.json" if case == "an id of a shot" else "test.json")
    assert (problems[0]["place"], problems[0]["row"]) == (str(place), row)
    table = mera_ru("data", "check", folder)
    assert table.status == 1 and "1 problem\n" in table.out and field in table.out


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


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.just("{question}\ud800"),
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
    ]
)


@given(st.sampled_from(sorted(BENCHMARKS)), PATHS, VALUES)
@at_least(150)
def test_whatever_stands_in_a_row_there_is_a_report(tmp_path_factory, name, path, value):
    benchmark = BENCHMARKS[name]
    test, shots = make_rows(benchmark, rows_per_type=2)
    if path:
        place = test[1]
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = value
    else:
        test[1] = value
    folder = tmp_path_factory.mktemp("data")
    write_json(folder / "dataset_meta.json", {"prompts": make_prompts(benchmark)})
    for split, rows in (("test", test), ("shots", shots)):
        (folder / f"{split}.json").write_text(json.dumps({"data": rows}))
    report = look_over(Source(benchmark, folder))
    json.dumps(report.as_json())
