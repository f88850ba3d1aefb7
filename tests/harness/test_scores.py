"""Every task and group in lm-eval's evaluation: known responses get known scores."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lm_eval.tasks import TaskManager

from mera_ru_tasks.paths import yaml_folder
from tests.support.known_scores import (
    BASES,
    CASES,
    EXPECTED,
    GROUPS,
    RANKED,
    SAMPLES,
    SCORED,
    answer_of,
    base_of,
    known_folder,
)
from tests.support.rows import data_folder, riddle
from tests.support.scripted import numbers, reference, run


@pytest.mark.parametrize("task", SCORED)
def test_known_responses_get_their_known_scores(tmp_path: Path, task: str) -> None:
    base = base_of(task)
    root = known_folder(tmp_path, in_shots=task.endswith("_shots"))
    results = run(None, [task], answer_of(CASES[base]), data=root)
    assert numbers(results, task) == pytest.approx(EXPECTED[base])
    assert results["n-samples"][task] == {"original": len(CASES[base]), "effective": len(CASES[base])}


def test_a_prefilled_response_is_read_as_what_follows_the_marker(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "Снег")])
    for task, read in (("riddles_closed_prefill", 1), ("riddles_closed", 0)):
        results = run(None, [task], lambda doc, prompt: " снег, потому что он белый", data=root)
        assert numbers(results, task)["exact_match,flexible-extract"] == read


@pytest.mark.parametrize("task", SAMPLES)
def test_the_sample_tasks_score_right_and_wrong_answers(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MERA_RU_DATA", "/of no concern to the samples")
    right = numbers(run(None, [task]), task)
    wrong = numbers(run(None, [task], lambda doc, prompt: "Ответ: Ж; неправда"), task)
    base = {"riddles": "riddles_closed"}.get(sampled := task.split("_sample")[0], sampled)
    assert set(right) == set(wrong) == set(EXPECTED[base])
    assert all(value == 1 for value in right.values())
    assert {name: value for name, value in wrong.items() if not name.startswith("answered")} == (
        dict.fromkeys((name for name in wrong if not name.startswith("answered")), 0)
    )


def test_the_group_is_the_unweighted_mean_of_strict_exact_match(tmp_path: Path) -> None:
    answers = {base: answer_of(CASES[base]) for base in BASES}

    def answer(doc: Mapping[str, Any], prompt: str) -> str | None:
        base = next(name for name, cases in CASES.items() if cases[0][0]["inputs"].keys() <= doc["inputs"].keys())
        return answers[base](doc, prompt)

    for group in ("mera_ru", "mera_ru_prefill"):
        results = run(None, [group], answer, data=known_folder(tmp_path))
        assert numbers(results, group) == pytest.approx({"exact_match,strict-match": (1 / 5 + 1 / 4 + 6 / 9) / 3})
        assert set(results["group_subtasks"][group]) == set(GROUPS[group])


def test_the_sample_groups_hold_the_sample_tasks() -> None:
    for group in ("mera_ru_sample", "mera_ru_sample_prefill"):
        results = run(None, [group])
        assert numbers(results, group) == {"exact_match,strict-match": 1}
        assert set(results["group_subtasks"][group]) == set(GROUPS[group])


def test_the_tag_names_the_leaderboards_three_tasks(tmp_path: Path) -> None:
    results = run(None, ["mera_ru_tasks"], lambda doc, prompt: "", data=known_folder(tmp_path))
    assert set(results["results"]) == set(BASES)


def our_tasks(**metadata: str) -> TaskManager:
    return TaskManager(include_defaults=False, include_path=str(yaml_folder()), metadata=metadata)


def test_these_tests_know_every_task() -> None:
    manager = our_tasks()
    assert set(manager.all_subtasks) == {*SCORED, *SAMPLES, *RANKED}
    assert set(manager.all_groups) == set(GROUPS)
    assert set(manager.all_tags) == {"mera_ru_tasks"}


def test_every_task_and_group_has_a_version() -> None:
    index = our_tasks().task_index
    versions = {name: entry.cfg["metadata"]["version"] for name, entry in index.items() if entry.cfg}
    names = {*SCORED, *SAMPLES, *RANKED, *GROUPS}
    assert versions == {name: 1.0 if "rank" in name or name == "mera_ru_shots" else 1.1 for name in names}


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    ["\ud800", "{{ 7*7 }}", "{%", "\x00", "[1, 2]", "🙂" * 1000, "Ответ:" * 1000, "\u2028", "</s>", "'; DROP TABLE"],
)
def test_no_response_stops_a_run(tmp_path: Path, hostile: str) -> None:
    root = known_folder(tmp_path)
    for task in BASES:
        results = run(None, [task], lambda doc, prompt: hostile, data=root)
        assert numbers(results, task)["exact_match,strict-match"] == 0


def test_reference_answers_are_right_by_every_number(tmp_path: Path) -> None:
    for task in BASES:
        assert set(numbers(run(None, [task], reference, data=known_folder(tmp_path)), task).values()) == {1}
