"""Custom datasets with groups, string types, prompts in the YAML file, hub data, and references in harmless formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from tests.support.custom_task import row, run_custom, task_folder
from tests.support.rows import data_folder, enantiosemy, region
from tests.support.scripted import numbers, reference, run

ONE = {"choices": "АБВ"}


def wrong_for(*ids: int) -> Any:
    return lambda doc, prompt: "Ответ: не знаю" if doc["meta"]["id"] in ids else reference(doc)


@pytest.mark.parametrize("answer", [ONE, {"choices": "АБВ", "max_choices": 2}, "phrase", "text"], ids=str)
def test_groups_are_scored_as_a_whole_whatever_the_answer(tmp_path: Path, answer: Any) -> None:
    rows = [row(number, "А", group_id=number % 2) for number in range(1, 7)]
    results = run_custom(tmp_path, rows, wrong_for(2), mera_ru_answer=answer, mera_ru_groups=True)
    found = numbers(results, "own")
    assert found["exact_match,strict-match"] == pytest.approx(5 / 6)
    assert found["group_exact_match,strict-match"] == found["group_exact_match,flexible-extract"] == 1 / 2


def test_types_can_be_texts(tmp_path: Path) -> None:
    rows = [row(1, "В", kind="выбор"), row(2, "Б; лужа", kind="слово"), row(3, "А", kind="выбор")]
    forms = {"выбор": ONE, "слово": {"choices": "АБ", "with_phrase": True}}
    results = run_custom(tmp_path, rows, reference, mera_ru_answer=forms, mera_ru_type_field="kind")
    assert set(numbers(results, "own").values()) == {1}
    one_format = run_custom(tmp_path, [row(1, "В", kind="выбор"), row(2, "А", kind=7)], reference,
                         mera_ru_answer=ONE, mera_ru_type_field="kind")  # fmt: skip
    assert [sample["doc"]["meta"]["kind"] for sample in one_format["samples"]["own"][:2]] == ["выбор", "7"]


def test_rows_without_an_instruction_take_the_prompts_in_turn(tmp_path: Path) -> None:
    rows = [row(number, "А") for number in range(1, 6)]
    for number in (0, 1, 2):
        del rows[number]["instruction"]
    rows[3]["instruction"] = 1
    prompts = ["Первый: {question}", {"instruction": "{intro}: {question}", "intro": "Второй"}]
    results = run_custom(tmp_path, rows, reference, mera_ru_answer=ONE, mera_ru_prompts=prompts)
    shown = {sample["doc"]["meta"]["id"]: sample["arguments"][0][0] for sample in results["samples"]["own"]}
    assert [shown[number].split(":")[0] for number in range(1, 5)] == ["Первый", "Второй", "Первый", "Второй"]
    assert shown[5].startswith("Вопрос номер 5?")


def test_a_dataset_on_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The revision is used, and prompts in the YAML file fill rows that have an index, as for local data."""
    monkeypatch.delenv("MERA_RU_DATA", raising=False)
    monkeypatch.setenv("MERA_RU_REVISION", "v3")
    rows = [{**row(1, "А"), "instruction": 0}, {**row(2, "В"), "instruction": 1}]
    asked = []

    def load_dataset(name: str, **settings: Any) -> Any:
        asked.append((name, settings))
        return datasets.DatasetDict({"test": datasets.Dataset.from_list(rows)})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    folder = task_folder(
        tmp_path, mera_ru_hub="org/own", mera_ru_answer=ONE, mera_ru_prompts=["{question}", "И {question}"]
    )
    results = run(None, ["own"], reference, task_folders=[folder])
    assert set(numbers(results, "own").values()) == {1}
    assert asked == [("org/own", {"revision": "v3"})]
    shown = {sample["doc"]["meta"]["id"]: sample["arguments"][0][0] for sample in results["samples"]["own"]}
    assert shown == {1: "номер 1", 2: "И номер 2"}


# The published reference, the response, and the strict and flexible exact match.
FORMS = [
    ("В;лента", "Ответ: В; лента", 0, 1),
    ("В;лента", "Ответ: В;лента", 1, 1),
    ("В;лента", "Ответ: Б; лента", 0, 0),
    ("В; Лента", "Ответ: В; лента", 1, 1),
    ("в ; лента", "Ответ: В; лента", 1, 1),
    ("В, лента", "Ответ: В; лента", 1, 1),
]


@pytest.mark.parametrize(("published", "response", "strict", "flexible"), FORMS)
def test_a_unit_in_a_harmless_form(tmp_path: Path, published: str, response: str, strict: int, flexible: int) -> None:
    """`strict-match` compares with the reference exactly as written; `flexible-extract` interprets it."""
    root = data_folder(tmp_path, "russian_regions", [region(1, published, kind=2)])
    found = numbers(run(None, ["russian_regions"], lambda doc, prompt: response, data=root), "russian_regions")
    assert found["exact_match,strict-match"] == found["group_exact_match,strict-match"] == strict
    assert found["exact_match,flexible-extract"] == found["letter_match,flexible-extract"] == flexible


LETTERS = [
    ("А;Е", "Ответ: А; Е", 0, 1, 1),
    ("А;Е", "Ответ: А;Е", 1, 1, 1),
    ("А;Е", "Ответ: А", 0, 0, 2 / 3),
    ("Е; А", "Ответ: А; Е", 0, 1, 1),
    ("а,  е", "Ответ: А; Е", 1, 1, 1),
]


@pytest.mark.parametrize(("published", "response", "strict", "flexible", "f1"), LETTERS)
def test_letters_in_a_harmless_form(
    tmp_path: Path, published: str, response: str, strict: int, flexible: int, f1: float
) -> None:
    root = data_folder(tmp_path, "enantiosemy", [enantiosemy(1, published)])
    found = numbers(run(None, ["enantiosemy"], lambda doc, prompt: response, data=root), "enantiosemy")
    assert (found["exact_match,strict-match"], found["exact_match,flexible-extract"]) == (strict, flexible)
    assert found["f1,flexible-extract"] == pytest.approx(f1)
