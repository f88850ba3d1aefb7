"""Nine options with the letter Ё, which comes between Е and Ж and is never confused with Е."""

from __future__ import annotations

import pytest

from mera_ru_tasks import score_response

ALL = "АБВГДЕЁЖЗ"


def scores_of(reference: str, response: str, options: int, most: int):
    answer_format = {"choices": ALL[:options], "max_choices": most, "with_phrase": False}
    return score_response({"outputs": reference, "answer_format": answer_format, "meta": {"id": 1}}, response)


# The reference, the response, the number of options, and the strict and flexible exact match.
ONE = [
    ("Ё", "Ответ: Ё", 9, 1, 1),
    ("Ё", "Ответ: ё", 9, 1, 1),
    ("Ё", "**Ответ:** Ё) кот", 9, 0, 1),
    ("Ё", "Ответ: Е", 9, 0, 0),
    ("Е", "Ответ: Ё", 9, 0, 0),
    ("Ё", "Ответ: Е\u0308", 9, 0, 1),
    ("Е", "Ответ: Е\u0308", 9, 0, 0),
    ("З", "Ответ: (З)", 9, 1, 1),
    ("Е", "Ответ: Ё", 6, 0, 0),
    ("А", "Ответ: З", 4, 0, 0),
    ("Ё", "Ответ: Ё и Ж", 9, 0, 0),
]  # fmt: skip
SEVERAL = [
    ("Е; Ё", "Ответ: Е; Ё", 1, 1),
    ("Е; Ё", "Ответ: Ё; Е", 0, 1),
    ("Е; Ё", "Ответ: ЕЁ", 0, 1),
    ("Ё; Ж", "Ответ: Е; Ж", 0, 0),
    ("Ё; Ж", "Ответ:\n- Ё\n- Ж", 1, 1),
    ("А; Е; Ё; З", "Ответ: А, Е, Ё и З", 0, 1),
    ("Е; Ё", "Ответ: Е", 0, 0),
]  # fmt: skip


@pytest.mark.parametrize(("reference", "response", "options", "strict", "flexible"), ONE)
def test_one_letter(reference: str, response: str, options: int, strict: int, flexible: int) -> None:
    scores = scores_of(reference, response, options, 1)
    assert (scores.strict["exact_match"], scores.flexible["exact_match"]) == (strict, flexible)


@pytest.mark.parametrize(("reference", "response", "strict", "flexible"), SEVERAL)
def test_several_letters(reference: str, response: str, strict: int, flexible: int) -> None:
    scores = scores_of(reference, response, 9, 9)
    assert (scores.strict["exact_match"], scores.flexible["exact_match"]) == (strict, flexible)
    assert str(scores.extraction.answer) == reference or not flexible
