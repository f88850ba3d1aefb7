"""The other scores of flexible-extract: f1, letter_match and answered."""

import pytest

from mera_ru_tasks.scoring.score import letters_f1, score_flexible
from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, document, flexible


@pytest.mark.parametrize(
    ("answer_format", "reference", "response", "scores"),
    [
        (SEVERAL, "А; Е", "Ответ: Е, А", {"exact_match": 1, "f1": 1, "answered": 1}),
        (SEVERAL, "А; Е", "Ответ: А", {"exact_match": 0, "f1": 2 / 3, "answered": 1}),
        (SEVERAL, "А; Е", "Ответ: А; Б; В", {"exact_match": 0, "f1": 2 / 5, "answered": 1}),
        (SEVERAL, "А; Е", "Ответ: Б", {"exact_match": 0, "f1": 0, "answered": 1}),
        (SEVERAL, "А; Е", "Ответ: А или Е", {"exact_match": 0, "f1": 0, "answered": 0}),
        (SEVERAL, "А; Е", "Ответ: А; Ж", {"exact_match": 0, "f1": 0, "answered": 0}),
        (SEVERAL, "А; Е", "", {"exact_match": 0, "f1": 0, "answered": 0}),
        (ONE, "Г", "Ответ: Г. Иней лежит.", {"exact_match": 1, "letter_match": 1, "answered": 1}),
        (ONE, "Г", "Ответ: В", {"exact_match": 0, "letter_match": 0, "answered": 1}),
        (ONE, "Г", "Ответ: В; Г", {"exact_match": 0, "letter_match": 0, "answered": 0}),
        (UNIT, "Г; иней", "Ответ: Г, «иней»", {"exact_match": 1, "letter_match": 1, "answered": 1}),
        (UNIT, "Г; иней", "Ответ: Г; снег", {"exact_match": 0, "letter_match": 1, "answered": 1}),
        (UNIT, "Г; иней", "Ответ: Г", {"exact_match": 0, "letter_match": 1, "answered": 1}),
        (UNIT, "Г; иней", "Ответ: иней", {"exact_match": 0, "letter_match": 0, "answered": 0}),
        (PHRASE, "иней", "Ответ: иней", {"exact_match": 1, "answered": 1}),
        (PHRASE, "иней", "Ответ: снег", {"exact_match": 0, "answered": 1}),
        (PHRASE, "иней", "Ответ: не знаю", {"exact_match": 0, "answered": 0}),
        (PHRASE, "иней", "На ветках лежит серебро, и это иней", {"exact_match": 0, "answered": 0}),
        # If the leaderboard counts a response as correct, all scores do, even if the extraction fails.
        (PHRASE, "иней на ветках", "Ответ: иней\nна ветках", {"exact_match": 1, "answered": 1}),
        (UNIT, "А; иней", "Ответ: А иней", {"exact_match": 1, "letter_match": 1, "answered": 1}),
        (UNIT, "В; не тот", "Ответ: В, не тот", {"exact_match": 1, "letter_match": 1, "answered": 1}),
    ],
)
def test_scores(answer_format, reference, response, scores):
    assert flexible(answer_format, reference, response) == pytest.approx(scores)


def test_documents_in_groups_carry_their_part():
    grouped = document(ONE, "Г") | {"meta": {"id": 1, "group_id": 7, "group_size": 3}}
    assert score_flexible(grouped, "Г", "Ответ: Г")["group_exact_match"] == (7, 3, 1)
    assert score_flexible(grouped, "В", "Ответ: В")["group_exact_match"] == (7, 3, 0)


@pytest.mark.parametrize(
    ("given", "right", "f1"),
    [
        ("АЕ", "АЕ", 1),
        ("А", "АЕ", 2 / 3),
        ("АБ", "АЕ", 1 / 2),
        ("Б", "АЕ", 0),
        ("", "АЕ", 0),
        ("", "", 0),
        ("ААЕ", "АЕ", 1),
    ],
)
def test_f1_of_letter_sets(given, right, f1):
    assert letters_f1(given, right) == pytest.approx(f1)
