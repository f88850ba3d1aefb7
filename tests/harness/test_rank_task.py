"""Run the ranking tasks with `simple_evaluate` and scripted log-likelihoods."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.data.benchmarks import benchmark_of_task
from mera_ru_tasks.issues import DataError
from mera_ru_tasks.scoring.metrics import METRICS
from mera_ru_tasks.scoring.ranking import options_of
from tests.support.known_scores import BASES, GROUPS, base_of
from tests.support.processes import RankingProcess, run_in_processes
from tests.support.rows import Row, data_folder, enantiosemy, region, riddle
from tests.support.scripted import RankingModel, Value, numbers, run

Doc = Mapping[str, Any]

SAMPLES = GROUPS["mera_ru_sample_rank"]
ROWS: dict[str, list[Row]] = {
    "enantiosemy": [enantiosemy(1, "А; Е"), enantiosemy(2, "Б", type=2), enantiosemy(3, "В; Г", type=3)],
    "riddles_closed": [riddle(1, "Снег; Первый снег"), riddle(2, "Мост"), riddle(3, "Лампа")],
    "russian_regions": [region(1, "А"), region(2, "Б; файл", kind=2), region(3, "В; вехотка", kind=3)],
}


def folder(root: Path, task: str) -> Path:
    base = base_of(task)
    shots = [{**row, "meta": {**row["meta"], "id": row["meta"]["id"] + 10}} for row in ROWS[base]]
    return data_folder(root, base, ROWS[base], shots)


def is_right(doc: Doc, context: str, continuation: str) -> bool:
    return any(option.right and continuation == f" {option.text}" for option in options_of(doc))


def by_bytes(right: float, wrong: float) -> Value:
    """Create a model that gives every byte of a correct option one value, and every byte of a wrong option another."""
    return lambda doc, context, text: (right if is_right(doc, context, text) else wrong) * len(text.encode())


@pytest.mark.parametrize("task", [f"{base}{variant}" for base in BASES for variant in ("_rank", "_shots_rank")])
def test_right_options_first_or_last(tmp_path: Path, task: str) -> None:
    root = folder(tmp_path, task)
    best = numbers(run(None, [task], RankingModel(by_bytes(-0.001, -9)), data=root), task)
    worst = numbers(run(None, [task], RankingModel(by_bytes(-9, -0.001)), data=root), task)
    bits = "bits_per_byte,none"
    if bits in best:
        assert (best.pop(bits), worst.pop(bits)) == pytest.approx((0.001 / math.log(2), 9 / math.log(2)))
    assert set(best.values()) == {1} and set(worst.values()) == {0}
    assert {name.partition(",")[0] for name in best} <= {
        name for name, each in METRICS.items() if "none" in each.filters
    }


def test_the_primary_metric_of_each_task_is_reported_in_its_direction() -> None:
    results = run(None, SAMPLES, RankingModel(by_bytes(-1, -1)))
    for task, primary in zip(SAMPLES, ("auc", "bits_per_byte", "cloze_acc_bytes"), strict=True):
        known = benchmark_of_task(task)
        assert known and known[0].name in METRICS[primary].primary_for
        assert f"{primary},none" in numbers(results, task)
        directions = results["higher_is_better"][task]
        assert directions == {name: METRICS[name].higher_is_better for name in directions}


def test_the_groups_have_no_mean(tmp_path: Path) -> None:
    results = run(None, ["mera_ru_sample_rank"], RankingModel(by_bytes(-1, -1)), limit=2)
    assert set(results["group_subtasks"]["mera_ru_sample_rank"]) == set(SAMPLES)
    assert not numbers(results, "mera_ru_sample_rank")


# --- what the model receives ------------------------------------------------------------------------------------------

ENANTIOSEMY_1 = "Текст 1."
ENANTIOSEMY_3 = "Текст 3.\n\nЗдесь «одолжить» значит:"
RIDDLE_1 = "Загадка: Загадка 1?\nОтвет:"
REGION_2 = "Задание 2.\nСлово: мультифора\nПример: Вот пример.\nТекст:"
REGION_3 = "Задание 3.\nРегион: Томск\nТекст:"
LETTERS_1 = "Задание 1.\nА. Текст a1.\nБ. Текст b1.\nВ. Текст c1.\nГ. Текст d1.\nОтвет:"


def requests_of(tmp_path: Path, task: str, **settings: Any) -> list[tuple[str, str]]:
    model = RankingModel(by_bytes(-1, -1))
    run(None, [task], model, data=folder(tmp_path, task), **settings)
    return model.requests


def test_each_option_is_one_request(tmp_path: Path) -> None:
    asked = requests_of(tmp_path, "enantiosemy_rank")
    assert asked[:6] == [(ENANTIOSEMY_1, f" Конец {letter}1.") for letter in "abcdef"]
    assert asked[12] == (ENANTIOSEMY_3, " Конец a3.") and len(asked) == 18
    asked = requests_of(tmp_path, "russian_regions_rank")
    assert asked[:4] == [("Задание 1.\nТекст:", f" Текст {letter}1.") for letter in "abcd"]
    assert asked[4:8] == [(LETTERS_1, f" {letter}") for letter in "АБВГ"]
    assert [asked[8][0], asked[16][0]] == [REGION_2, REGION_3] and len(asked) == 24
    asked = requests_of(tmp_path, "riddles_closed_rank")
    assert asked[:2] == [(RIDDLE_1, " Снег"), (RIDDLE_1, " Первый снег")]
    assert len(asked) == (2 + 9) + (1 + 9) * 2
    assert {text for _, text in asked[2:4]} == {" Мост", " Лампа"}, "answers in the data come first"


def test_shots_have_the_form_of_what_follows(tmp_path: Path) -> None:
    asked = requests_of(tmp_path, "russian_regions_rank", num_fewshot=1)
    cloze, letters = asked[0][0], asked[4][0]
    shot, _, _ = cloze.partition("\n\n")
    number = int(shot[len("Задание ")])
    letter = ROWS["russian_regions"][number - 1]["outputs"][0]
    name = "abcd"["АБВГ".index(letter)]
    assert cloze.endswith(f"Текст: Текст {name}{number}.\n\nЗадание 1.\nТекст:")
    assert letters.endswith(f"\nОтвет: {letter}\n\n{LETTERS_1}")
    [first, *_] = requests_of(tmp_path, "riddles_closed_rank", num_fewshot=3)
    assert first[0].count("\nОтвет: ") == 3 and first[0].endswith(f"\n\n{RIDDLE_1}")
    assert "Ответ: Снег\n\n" in first[0]


def test_a_chat_template_is_used_only_on_demand(tmp_path: Path) -> None:
    [first, *_] = requests_of(tmp_path, "riddles_closed_rank", apply_chat_template=True)
    assert first == (f"<user>{RIDDLE_1}<assistant>", "Снег")
    scores = run(None, ["riddles_sample_rank"], RankingModel(lambda doc, context, text: -len(text.encode())),
                 apply_chat_template=True)  # fmt: skip
    assert numbers(scores, "riddles_sample_rank")["bits_per_byte,none"] == pytest.approx(1 / math.log(2))


# --- settings without effect ------------------------------------------------------------------------------------------


def noise(doc: Doc, context: str, continuation: str) -> float:
    return -random.Random(context + continuation).random() * 30


@pytest.mark.parametrize("task", SAMPLES)
def test_the_number_of_processes_changes_nothing(tmp_path: Path, task: str) -> None:
    alone = run(None, [task], RankingModel(noise))
    for size in (2, 3):
        several = run_in_processes(size, task, tmp_path, noise, kind=RankingProcess)
        assert numbers(several, task) == pytest.approx(numbers(alone, task))


def test_a_limit_leaves_each_document_as_it_is() -> None:
    whole, part = (run(None, ["riddles_sample_rank"], RankingModel(noise), **limit) for limit in ({}, {"limit": 7}))
    samples = whole["samples"]["riddles_sample_rank"][:7]
    assert part["samples"]["riddles_sample_rank"] == samples
    assert len(samples[0]["doc"]["distractors"]) == 9


# --- no score without a reference or a value --------------------------------------------------------------------------


def test_documents_without_a_reference_are_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data_folder(tmp_path, "riddles", [riddle(1), riddle(2, ""), riddle(3, "Мост")])
    results = run(None, ["riddles_closed_rank"], RankingModel(by_bytes(-1, -1)), data=tmp_path)
    assert [each["doc"]["meta"]["id"] for each in results["samples"]["riddles_closed_rank"]] == [1, 3]
    assert "riddles_closed_rank: the documents without a reference answer are left out" in caplog.text


def test_without_any_reference_nothing_runs(tmp_path: Path) -> None:
    data_folder(tmp_path, "riddles", [riddle(1, ""), riddle(2, None)])
    with pytest.raises(DataError, match="`riddles_closed_shots_rank`"):
        run(None, ["riddles_closed_rank"], RankingModel(by_bytes(-1, -1)), data=tmp_path)


@pytest.mark.parametrize("value", [math.nan, -math.inf])
def test_a_value_that_is_no_number_is_no_score(value: float, caplog: pytest.LogCaptureFixture) -> None:
    model = RankingModel(lambda doc, context, text: value if doc["meta"]["id"] == 1 else -1.0)
    results = run(None, ["enantiosemy_sample_rank"], model, limit=3)
    [first, *others] = results["samples"]["enantiosemy_sample_rank"]
    assert first["metrics"] == [] and all(each["metrics"] for each in others)
    assert "not a finite number" in caplog.text


def test_predict_only_has_no_score() -> None:
    results = run(None, ["riddles_sample_rank"], RankingModel(by_bytes(-1, -1)), limit=2, predict_only=True)
    assert {name for each in results["samples"]["riddles_sample_rank"] for name in each["metrics"]} == {"bypass"}
