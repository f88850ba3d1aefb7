"""The reason for an extraction: the code, and the clause that gave or retracted the answer."""

import pytest

from mera_ru_tasks import score_response
from mera_ru_tasks.issues import DataError
from mera_ru_tasks.scoring.extract import extract_answer, opening_mark
from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, document

ROWS = [
    (ONE, "Ответ: Б. Так в тексте.", "Б", "given", "Б. Так в тексте"),
    (ONE, "Ответ: Б. Так в тексте. Хотя нет, это Г.", "", "denied", "Хотя нет, это Г"),
    (ONE, "Ответ: Б\n\nЯ передумал, выбираю Г.", "", "retracted", "Я передумал, выбираю Г"),
    (ONE, "Ответ: Б (возможно, Г)", "", "another", "возможно, Г"),
    (ONE, "Ответ: Ж", "", "out-of-range", "Ж"),
    (ONE, "Ответ: А; Б", "", "too-many", "А; Б"),
    (ONE, "<think>Ответ: Б", "", "reasoning-open", ""),
    (ONE, "Не знаю.", "", "no-answer", ""),
    (SEVERAL, "Ответ: А; Б; В (верен только А)", "", "narrowed", "верен только А"),
    (ONE, "Ответ: не А, а Б", "Б", "given", "Б"),
    (ONE, "Без смысловых ошибок только текст Б.", "Б", "given", "Без смысловых ошибок только текст Б"),
    (PHRASE, "самовар (прибор)", "самовар", "given", "самовар (прибор)"),
    (PHRASE, "Ответ: вулкан (гейзер)", "вулкан", "given", "вулкан (гейзер)"),
    (PHRASE, "Ответ: вулкан (возможно, гейзер)", "", "another", "возможно, гейзер"),
    (SEVERAL, "Ответ: А — 80%, Б — 20%", "", "unclear-verdicts", "А — 80%, Б — 20%"),
    (PHRASE, "Ответ: радуга. Но это неверно.", "", "denied", "Но это неверно"),
    (UNIT, "Ответ: Б; лужа. Или В; болото.", "", "another", "Или В; болото"),
]


@pytest.mark.parametrize(("answer_format", "response", "answer", "code", "clause"), ROWS)
def test_explanation(answer_format, response, answer, code, clause):
    extraction = extract_answer(response, answer_format)
    assert (extraction.answer, extraction.code, extraction.clause) == (answer, code, clause)


OPTIONS = ["Баню топили по субботам.", "Да, правильно говорят: верно служи.", "Нет, это не так.", "Пироги остыли."]


def test_the_text_of_an_option_alone_is_an_answer():
    assert extract_answer("Ответ: пироги остыли", ONE, options=OPTIONS).answer == "Г"
    assert extract_answer("Ответ: пироги", ONE, options=OPTIONS).answer == ""
    assert extract_answer("Ответ: пироги остыли", ONE, options=OPTIONS[3:] * 4).answer == ""


@pytest.mark.parametrize("separator", ["\n", " "])
def test_the_words_of_an_options_text_judge_nothing(separator):
    listed = separator.join(f"{letter}) {text}" for letter, text in zip("АБВ", OPTIONS, strict=False))
    assert extract_answer("Ответ: В) Нет, это не так.", ONE, options=OPTIONS).answer == "В"
    if separator == "\n":
        assert extract_answer(f"Ответ:\n{listed}", SEVERAL, options=[*OPTIONS, "Зима.", "Лето."]).answer == "А; Б; В"


@pytest.mark.parametrize(
    ("prompt", "mark"),
    [
        ("Загадка…<｜Assistant｜><think>\n", "<think>"),
        ("Загадка…<think>", "<think>"),
        ("Загадка…<think>\nОтвет:", "<think>"),
        ("Загадка…<think>\n\n</think>\n\n", ""),
        ("Загадка…", ""),
        ("", ""),
        ([{"role": "user", "content": "<think>"}], ""),
    ],
)
def test_a_prompt_that_opens_reasoning(prompt, mark):
    assert opening_mark(prompt) == mark


def test_a_draft_in_reasoning_that_the_prompt_opened_is_no_answer():
    doc = document(ONE, "Б")
    assert score_response(doc, "Проверим. Ответ: Б").flexible["exact_match"] == 1
    draft = score_response(doc, "Проверим. Ответ: Б", prefix="<think>")
    assert (draft.flexible["exact_match"], draft.extraction.code) == (0, "reasoning-open")
    assert score_response(doc, "Может, Г?</think>Ответ: Б", prefix="<think>").flexible["exact_match"] == 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"answer_format": ...}, "answer_format"),
        ({"outputs": ...}, "outputs"),
        ({"meta": ...}, "meta"),
        ({"answer_format": {"letters": "АБ"}}, "answer_format"),
        ({"answer_format": None}, "answer_format"),
    ],
)
def test_a_document_without_a_needed_field_is_refused_by_name(change, named):
    doc = {name: value for name, value in {**document(ONE, "Б"), **change}.items() if value is not ...}
    with pytest.raises(DataError, match=f"`{named}`"):
        score_response(doc, "Ответ: Б")
