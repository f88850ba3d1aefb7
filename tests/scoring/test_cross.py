"""Tails crossed with places and answer formats: the verdict depends on what a tail says, never on where it says it.

The labels follow the scoring policy. In a tail, {a} is the given answer and {o} is another candidate.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from mera_ru_tasks.data.benchmarks import AnswerFormat
from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, flexible

# After these, no answer is unmistakable.
WRONG = """
Хотя нет, это {o}.
Также возможен вариант {o}.
Я передумал, это {o}.
Но этот ответ неверен, правильный — {o}.
Хотя, возможно, {o}.
Или {o}.
А может быть, и {o}.
Нет, скорее {o}.
Ой, ошибся: {o}.
Исправление: {o}.
Точнее, {o}.
Второй вариант — {o}.
Впрочем, {o} подходит лучше.
Это неверно.
Нет, это неправильно.
На самом деле правильный ответ — {o}.
{o} тоже подходит.
Не уверен, может быть, {o}.
Wait, actually {o}.
Альтернативный ответ: {o}.
Меняю ответ на {o}.
Извините, верный ответ — {o}.
Стоп, это же {o}.
Этот ответ ошибочен.
Всё-таки {o}.
Но может подойти и {o}.
""".strip().splitlines()

# These explain the answer, confirm it or speak of something else.
RIGHT = """
На это указывают все детали.
Пояснение: об этом говорит последняя деталь.
Потому что так сказано в условии.
Остальные варианты не подходят.
Это следует из смысла слова.
Уверен в этом полностью.
{o} не подходит по смыслу.
Не {o}.
А не {o}.
Думаю, это верно.
Сначала я подумал про {o}, но это неверно.
Надеюсь, помог!
Если нужно, объясню подробнее.
Спасибо за интересный вопрос!
Другие варианты противоречат условию.
Именно {a} подходит лучше всего.
Ведь только так сходятся все приметы.
Нет никаких сомнений.
Хотя вопрос непростой.
Возможно, формулировка нарочно запутана.
{o} сразу отпадает.
{o} — неверный ответ.
Это единственный подходящий вариант.
Скорее всего, это самый точный ответ.
Может показаться, что это {o}, но это не так.
Ошибиться здесь легко, но детали не оставляют выбора.
""".strip().splitlines()


@dataclass(frozen=True)
class Base:
    """An answer that tails follow, and another candidate."""

    answer_format: AnswerFormat
    answer: str
    other: str


BASES = [
    Base(ONE, "Б", "Г"),
    Base(SEVERAL, "А; Е", "Д"),
    Base(UNIT, "Б; лужа", "Г; болото"),
    Base(PHRASE, "радуга", "мост"),
]


def placed(answer: str, tail: str) -> Iterator[tuple[str, str]]:
    """Yield the response with its tail in each place, each with the place's name."""
    inner = tail.rstrip(".!")
    inner = (
        inner if inner.startswith(("Б", "Г", "Д", "А;")) and not inner[1:2].isalpha() else inner[0].lower() + inner[1:]
    )
    yield "sentence", f"Ответ: {answer}. {tail[0].upper()}{tail[1:]}"
    yield "brackets", f"Ответ: {answer} ({inner})"
    yield "next line", f"Ответ: {answer}\n{tail[0].upper()}{tail[1:]}"
    yield "next paragraph", f"Ответ: {answer}\n\n{tail[0].upper()}{tail[1:]}"


def cross(wrong: list[str], right: list[str], bases: list[Base]) -> Iterator[tuple[Base, str, str, str, int]]:
    """Yield every case: base, tail, place, response and the exact match that it must get."""
    for expected, tails in ((0, wrong), (1, right)):
        for tail in tails:
            for base in bases:
                for place, response in placed(base.answer, tail.format(a=base.answer, o=base.other)):
                    yield base, tail, place, response, expected


CASES = list(cross(WRONG, RIGHT, BASES))


@pytest.mark.parametrize("expected", [0, 1])
def test_every_tail_counts_the_same_in_every_place(expected):
    missed = [
        response
        for base, _, _, response, right in CASES
        if right == expected and flexible(base.answer_format, base.answer, response)["exact_match"] != right
    ]
    assert missed == []


def test_the_cross_is_large_enough():
    assert min(sum(right == expected for *_, right in CASES) for expected in (0, 1)) >= 200
