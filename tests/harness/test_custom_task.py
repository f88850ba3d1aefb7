"""A custom dataset as a task: the documented YAML file, every answer format, and lm-eval's own settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.issues import DataError
from tests.support.custom_task import row, run_custom, task_folder
from tests.support.documents import page, text_of
from tests.support.rows import data_folder, riddle
from tests.support.scripted import numbers, reference, run


def documented() -> dict[str, str]:
    """Return the first code block of the page in each language."""
    text = text_of(page("custom-datasets"))
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return dict(reversed(blocks))


def test_the_documented_task_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = documented()
    assert len(blocks["yaml"].splitlines()) < 15
    for name, text in (("my_tasks/city_quiz.yaml", blocks["yaml"]), ("my_data/city_quiz/test.json", blocks["json"])):
        Path(name).parent.mkdir(parents=True)
        Path(name).write_text(text, encoding="utf-8")
    results = run(
        tmp_path / "results", ["city_quiz"], lambda *_: "Ответ: Б, так как Нева", task_folders=[Path("my_tasks")]
    )
    assert numbers(results, "city_quiz") == {
        "exact_match,strict-match": 0, "exact_match,flexible-extract": 1, "letter_match,flexible-extract": 1,
        "answered,flexible-extract": 1,
    }  # fmt: skip
    prompt = results["samples"]["city_quiz"][0]["arguments"]["gen_args_0"]["arg_0"]
    assert prompt.startswith("Какой город стоит на Неве?\nА. Пермь\nБ. Санкт-Петербург\n")
    [log] = (tmp_path / "results").rglob("samples_city_quiz_*.jsonl")
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2


FORMS: dict[str, tuple[Any, list[tuple[str, str]], dict[str, float]]] = {
    # the answer format, pairs (reference, response), and the scores
    "a phrase": (
        "phrase",
        [("Снег; Первый снег", "Ответ: первый снег"), ("Река", "Ответ: **река**")],
        {"exact_match,strict-match": 1, "exact_match_plain,strict-match": 1 / 2, "exact_match,flexible-extract": 1,
         "answered,flexible-extract": 1},
    ),
    "a text": (
        "text",
        [("раз; два", "Ответ: раз; два"), ("раз; два", "Ответ: два; раз"), ("Сам, и тут", "Ответ: **Сам — и тут**")],
        {"exact_match,strict-match": 2 / 3, "exact_match,flexible-extract": 2 / 3, "answered,flexible-extract": 1},
    ),
    "one letter of nine": (
        {"choices": "АБВГДЕЁЖЗ"},
        [("Ё", "Ответ: (Ё)"), ("Ё", "Ответ: Е"), ("Е", "Ответ: ё"), ("З", "Ответ: З")],
        {"exact_match,strict-match": 1 / 2, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
         "letter_match,flexible-extract": 1 / 2},
    ),
    "one letter": (
        {"choices": "АБВГДЕЖЗ"},
        [("З", "Ответ: (З)"), ("Ж", "Ответ: Ж, потому что так"), ("А", "не знаю")],
        {"exact_match,strict-match": 1 / 3, "exact_match,flexible-extract": 2 / 3, "answered,flexible-extract": 2 / 3,
         "letter_match,flexible-extract": 2 / 3},
    ),
    "several letters": (
        {"choices": "АБВГД", "max_choices": 3},
        [("А; Д", "Ответ: Д, А"), ("Б; В; Г", "Ответ: Б")],
        {"exact_match,strict-match": 0, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
         "f1,flexible-extract": 3 / 4},
    ),
    "a letter and a unit": (
        {"choices": "АБВГ", "max_choices": 1, "with_phrase": True},
        [("Б; лужа", "Ответ: Б; лужа"), ("В; пурга", "Ответ: В; метель")],
        {"exact_match,strict-match": 1 / 2, "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
         "letter_match,flexible-extract": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_answer(tmp_path: Path, form: str) -> None:
    answer, cases, expected = FORMS[form]
    rows = [row(number, outputs) for number, (outputs, _) in enumerate(cases, start=1)]
    results = run_custom(tmp_path, rows, lambda doc, prompt: cases[doc["meta"]["id"] - 1][1], mera_ru_answer=answer)
    assert numbers(results, "own") == pytest.approx(expected)
    assert results["versions"]["own"] == 2.0
    perfect = run_custom(tmp_path, rows, reference, mera_ru_answer=answer)
    assert set(numbers(perfect, "own").values()) == {1}


def test_a_form_for_each_type(tmp_path: Path) -> None:
    rows = [row(1, "В", kind=1), row(2, "А; лужа", kind=2)]
    forms = {1: {"choices": "АБВ"}, 2: {"choices": "АБ", "with_phrase": True}}
    results = run_custom(tmp_path, rows, reference, mera_ru_answer=forms, mera_ru_type_field="kind")
    assert set(numbers(results, "own").values()) == {1}
    with pytest.raises(DataError, match=r"test\.json, row 2 \(id 2\), field `meta\.kind`: the type 3 is unknown"):
        run_custom(tmp_path, [rows[0], row(2, "А", kind=3)], reference, mera_ru_answer=forms, mera_ru_type_field="kind")


def test_shots_prefix_and_lm_evals_own_settings(tmp_path: Path) -> None:
    results = run_custom(
        tmp_path, [riddle(1)], lambda doc, prompt: " снег\n", [riddle(2, "Лёд; Льдина")], num_fewshot=1,
        mera_ru_answer="phrase", mera_ru_prefill=True, generation_kwargs={"max_gen_toks": 5}, tag="mine",
    )  # fmt: skip
    prompt, generation = results["samples"]["own"][0]["arguments"][0]
    assert "Загадка 2?\nОтвет: Лёд\n\nОтгадай" in prompt
    assert prompt.endswith("Загадка 1?\nОтвет:")
    assert generation == {"until": ["\n"], "do_sample": False, "max_gen_toks": 5}
    assert set(numbers(results, "own").values()) == {1}


def test_plain_generation_keeps_its_lack_of_stop_strings(tmp_path: Path) -> None:
    results = run_custom(
        tmp_path, [riddle(1)], reference, mera_ru_answer="phrase", generation_kwargs={"max_gen_toks": 5}
    )
    assert results["samples"]["own"][0]["arguments"][0][1] == {
        "until": ["<no stop string>"],
        "do_sample": False,
        "max_gen_toks": 5,
    }


def test_the_data_folder_of_the_benchmarks_does_not_hide_the_tasks_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MERA_RU_DATA", str(tmp_path / "elsewhere"))
    assert numbers(run_custom(tmp_path, [riddle(1)], reference, mera_ru_answer="phrase"), "own")


def test_a_hub_datasets_local_copy(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, mera_ru_hub="org/own", mera_ru_answer="phrase")
    root = data_folder(tmp_path / "data", "Own", [riddle(1)])
    results = run(None, ["own"], reference, task_folders=[folder], data=root)
    assert set(numbers(results, "own").values()) == {1}


def test_closed_answers_give_no_number_and_no_talk_of_the_leaderboard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    results = run_custom(tmp_path, [riddle(1, "")], reference, mera_ru_answer="phrase")
    assert numbers(results, "own") == {}
    assert [record.message for record in caplog.records if record.name == "lm_eval.mera_ru_tasks"] == [
        "own: 1 of 1 documents has no reference answer, so it gets no score. "
        "To get scores, add the missing answers to the data."
    ]
