"""`mera-ru data check` warns about data that a run accepts but that look wrong."""

from __future__ import annotations

import json

import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.paths import sample_folder
from tests.support.broken_data import Change, broken, put, report_of


def same_question(test, shots):
    test[6]["inputs"] = test[1]["inputs"]


def near_shot(test, shots):
    shots[0]["inputs"]["question"] = test[1]["inputs"]["question"].replace(" ", ", ", 1) + " Да."


# The change to the data, the number of rows of each type, and the code, row and field of the issue.
SUSPICIOUS: dict[str, tuple[Benchmark, Change, int, str, int | None, str]] = {
    "a placeholder without input": (
        RIDDLES_CLOSED, put("instruction", "{question} {quesiton} {А, Б}"), 4, "unfilled-placeholder", 2, "instruction",
    ),
    "an input without placeholder": (RIDDLES_CLOSED, put("inputs", "hint", "я"), 4, "unused-input", 2, "inputs.hint"),
    "a placeholder with spaces": (
        RIDDLES_CLOSED, put("instruction", "{ question }"), 4, "unfilled-placeholder", 2, "instruction",
    ),
    "mixed alphabets": (RIDDLES_CLOSED, put("outputs", "снег; cнежок"), 4, "mixed-alphabets", 2, "outputs"),
    "a unit from nowhere": (
        RUSSIAN_REGIONS, lambda test, shots: test[4].update(outputs="А; слово"), 4,
        "phrase-not-in-option", 5, "outputs",
    ),
    "an answer twice": (RIDDLES_CLOSED, put("outputs", "снег; Снег"), 4, "repeated-answer", 2, "outputs"),
    "options alike": (
        ENANTIOSEMY, lambda test, shots: test[1]["inputs"].update(option_b=test[1]["inputs"]["option_a"]), 4,
        "same-options", 2, "inputs.option_b",
    ),
    "a question twice": (RIDDLES_CLOSED, same_question, 10, "duplicate-question", 7, "inputs"),
    "a shot in the test": (RIDDLES_CLOSED, near_shot, 4, "near-duplicate", 2, "inputs"),
    "a group in both splits": (
        RUSSIAN_REGIONS, lambda test, shots: shots[0]["meta"].update(group_id=1), 4, "shared-group", 1, "meta.group_id",
    ),
    "a part of the test": (RIDDLES_CLOSED, lambda test, shots: None, 4, "other-size", None, ""),
}  # fmt: skip


def test_of_several_near_shots_the_nearest_is_named(mera_ru, tmp_path):
    def change(test, shots):
        for row, ending in zip(shots, (" и ещё", ""), strict=False):
            row["inputs"]["question"] = test[0]["inputs"]["question"] + " не то" + ending

    outcome = mera_ru("data", "check", broken(tmp_path / "data", RIDDLES_CLOSED, change, 4), "--format", "json")
    [near] = [issue for issue in report_of(outcome)["issues"] if issue["code"] == "near-duplicate"]
    assert " with the shot in row 2 (id " in near["message"]


@pytest.mark.parametrize("case", SUSPICIOUS)
def test_what_looks_wrong_is_a_warning(case, mera_ru, tmp_path):
    benchmark, change, rows, code, row, field = SUSPICIOUS[case]
    folder = broken(tmp_path / "data", benchmark, change, rows)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    issues = report_of(outcome)["issues"]
    assert outcome.status == 0 and {issue["severity"] for issue in issues} == {"warning"}
    [found] = [issue for issue in issues if issue["code"] == code]
    assert (found["location"]["row"], found["location"]["field"], bool(found["hint"])) == (row, field, True)
    assert "\nno errors\n" in mera_ru("data", "check", folder).out


def test_the_shipped_data_have_nothing_wrong_and_take_a_line_each(mera_ru):
    outcome = mera_ru("data", "check", sample_folder(), "--format", "json")
    assert outcome.status == 0
    assert [[issue["code"] for issue in report["issues"]] for report in json.loads(outcome.out)] == [[]] * 4
    lines = mera_ru("data", "check", sample_folder()).out.splitlines()
    assert len(lines) == 4 and all("no errors, no warnings" in line for line in lines)
    assert len(mera_ru("data", "check", sample_folder(), "--counts").out.splitlines()) > 20
