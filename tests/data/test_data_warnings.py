"""`mera-ru data check`: what a run takes though it looks wrong."""

from __future__ import annotations

import json

import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.paths import sample_folder
from tests.support.broken_data import Change, broken, put, report_of


def every_letter_a(test, shots):
    for row in test:
        row["outputs"] = "А"


def same_question(test, shots):
    test[6]["inputs"] = test[1]["inputs"]


def near_shot(test, shots):
    shots[0]["inputs"]["question"] = test[1]["inputs"]["question"].replace(" ", ", ", 1) + " Да."


# What looks wrong though a run takes it; rows for each type; field; words.
SUSPICIOUS: dict[str, tuple[Benchmark, Change, int, str, str]] = {
    "a placeholder without input": (
        RIDDLES_CLOSED, put("instruction", "{question} {quesiton} {А, Б}"), 4, "instruction",
        "no input fills the placeholder {quesiton}",
    ),
    "an input without placeholder": (
        RIDDLES_CLOSED, put("inputs", "hint", "я"), 4, "inputs.hint", "no placeholder of the instruction shows it",
    ),
    "a placeholder with spaces": (
        RIDDLES_CLOSED, put("instruction", "{ question }"), 4, "instruction", "no input fills the placeholder { q",
    ),
    "mixed alphabets": (
        RIDDLES_CLOSED, put("outputs", "снег; cнежок"), 4, "outputs", "'cнежок' mixes Cyrillic with the Latin 'c'",
    ),
    "a unit from nowhere": (
        RUSSIAN_REGIONS, lambda test, shots: test[4].update(outputs="А; слово"), 4, "outputs",
        "the unit 'слово' does not stand in the right option, inputs.option_a",
    ),
    "an answer twice": (RIDDLES_CLOSED, put("outputs", "снег; Снег"), 4, "outputs", "'снег' is accepted 2 times"),
    "options alike": (
        ENANTIOSEMY, lambda test, shots: test[1]["inputs"].update(option_b=test[1]["inputs"]["option_a"]), 4,
        "inputs.option_b", "it is the same text as option_a",
    ),
    "a question twice": (RIDDLES_CLOSED, same_question, 10, "inputs", "it is the question of row 2 (id 2) again"),
    "a shot in the test": (RIDDLES_CLOSED, near_shot, 4, "inputs", "it is nearly the shot in row 1 (id 5)"),
    "a group in both splits": (
        RUSSIAN_REGIONS, lambda test, shots: shots[0]["meta"].update(group_id=1), 4, "meta.group_id",
        "the group 1 has rows in the test split too",
    ),
    "letters out of balance": (ENANTIOSEMY, every_letter_a, 60, "outputs", "the right letters are out of balance"),
    "prompts unevenly spread": (
        RIDDLES_CLOSED, lambda test, shots: [row.update(instruction=0) for row in test[:4]], 10, "instruction",
        "the prompts are spread unevenly (",
    ),
    "a part of the test": (RIDDLES_CLOSED, lambda test, shots: None, 4, "", "(4 rows, by the card 500)"),
}  # fmt: skip


def test_of_several_near_shots_the_nearest_is_named(mera_ru, tmp_path):
    def change(test, shots):
        for row, ending in zip(shots, (" и ещё", ""), strict=False):
            row["inputs"]["question"] = test[0]["inputs"]["question"] + " не то" + ending

    outcome = mera_ru("data", "check", broken(tmp_path / "data", RIDDLES_CLOSED, change, 4), "--format", "json")
    near = [warning["what"] for warning in report_of(outcome)["warnings"] if "nearly the shot" in warning["what"]]
    assert len(near) == 1
    assert near[0].startswith("it is nearly the shot in row 2 ")


@pytest.mark.parametrize("case", SUSPICIOUS)
def test_what_looks_wrong_is_a_warning(case, mera_ru, tmp_path):
    benchmark, change, rows, field, words = SUSPICIOUS[case]
    folder = broken(tmp_path / "data", benchmark, change, rows)
    outcome = mera_ru("data", "check", folder, "--format", "json")
    report = report_of(outcome)
    assert (outcome.status, report["problems"]) == (0, [])
    found = [warning for warning in report["warnings"] if warning["field"] == field and words in warning["what"]]
    assert len(found) == 1 and found[0]["remedy"], report["warnings"]


def test_the_shipped_data_have_nothing_wrong_but_their_size(mera_ru):
    outcome = mera_ru("data", "check", sample_folder(), "--format", "json")
    assert outcome.status == 0
    for report in json.loads(outcome.out):
        assert [warning["what"].split(" (")[0] for warning in report["warnings"]] == [
            "the test split is not the whole test set"
        ], report["warnings"]
