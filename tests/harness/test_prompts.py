"""Compare complete prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.prompts import prompts
from tests.support.rows import data_folder, enantiosemy, region, riddle


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return one document and three shots of each benchmark."""
    data_folder(tmp_path, "enantiosemy", [enantiosemy(1, "")], [enantiosemy(2, "Б"), enantiosemy(3), enantiosemy(4)])
    data_folder(tmp_path, "riddles", [riddle(1, "")], [riddle(2, "Огонь"), riddle(3), riddle(4, "Вода; Река")])
    data_folder(tmp_path, "russian_regions", [region(1, "", kind=3), region(2, "", kind=2)],
                [region(3, "Г; файл", kind=2), region(4), region(5, "А; вехотка", kind=3)])  # fmt: skip
    return tmp_path


ENANTIOSEMY_1 = """\
Слово «одолжить». Буквы из {А, Б, В, Г, Д, Е}.
Текст 1.
А. Конец a1.
Б. Конец b1.
В. Конец c1.
Г. Конец d1.
Д. Конец e1.
Е. Конец f1."""

RIDDLE_1 = """\
Отгадай. Строка ответа: «Ответ: слово».
Загадка 1?"""

REGION_1 = """\
Задание 1.
Томск
А. Текст a1.
Б. Текст b1.
В. Текст c1.
Г. Текст d1."""

REGION_2 = """\
Задание 2.
мультифора
Вот пример.
А. Текст a2.
Б. Текст b2.
В. Текст c2.
Г. Текст d2."""

ENANTIOSEMY_2_SHOTS = f"""\
Слово «одолжить». Буквы из {{А, Б, В, Г, Д, Е}}.
Текст 4.
А. Конец a4.
Б. Конец b4.
В. Конец c4.
Г. Конец d4.
Д. Конец e4.
Е. Конец f4.
Ответ: А; Е

Слово «одолжить». Буквы из {{А, Б, В, Г, Д, Е}}.
Текст 2.
А. Конец a2.
Б. Конец b2.
В. Конец c2.
Г. Конец d2.
Д. Конец e2.
Е. Конец f2.
Ответ: Б

{ENANTIOSEMY_1}"""

RIDDLE_2_SHOTS = f"""\
Отгадай. Строка ответа: «Ответ: слово».
Загадка 4?
Ответ: Вода

Отгадай. Строка ответа: «Ответ: слово».
Загадка 2?
Ответ: Огонь

{RIDDLE_1}"""

REGION_2_SHOTS = """\
Задание 5.
Томск
А. Текст a5.
Б. Текст b5.
В. Текст c5.
Г. Текст d5.
Ответ: А; вехотка

Задание 3.
мультифора
Вот пример.
А. Текст a3.
Б. Текст b3.
В. Текст c3.
Г. Текст d3.
Ответ: Г; файл

"""


@pytest.mark.parametrize(
    ("task", "shots", "expected"),
    [
        ("enantiosemy", None, [ENANTIOSEMY_1]),
        ("enantiosemy", 0, [ENANTIOSEMY_1]),
        ("enantiosemy", 2, [ENANTIOSEMY_2_SHOTS]),
        ("enantiosemy_prefill", None, [f"{ENANTIOSEMY_1}\nОтвет:"]),
        ("enantiosemy_prefill", 2, [f"{ENANTIOSEMY_2_SHOTS}\nОтвет:"]),
        ("riddles_closed", None, [RIDDLE_1]),
        ("riddles_closed", 2, [RIDDLE_2_SHOTS]),
        ("riddles_closed_prefill", None, [f"{RIDDLE_1}\nОтвет:"]),
        ("riddles_closed_prefill", 2, [f"{RIDDLE_2_SHOTS}\nОтвет:"]),
        ("russian_regions", None, [REGION_1, REGION_2]),
        ("russian_regions", 2, [REGION_2_SHOTS + REGION_1, REGION_2_SHOTS + REGION_2]),
        ("russian_regions_prefill", None, [f"{REGION_1}\nОтвет:", f"{REGION_2}\nОтвет:"]),
        ("russian_regions_prefill", 2, [f"{REGION_2_SHOTS}{text}\nОтвет:" for text in (REGION_1, REGION_2)]),
    ],
)
def test_plain_prompts(root: Path, task: str, shots: int | None, expected: list[str]) -> None:
    assert prompts(root, task, num_fewshot=shots) == expected


CHAT_SHOTS = (
    "<user>Отгадай. Строка ответа: «Ответ: слово».\nЗагадка 4?<assistant>Ответ: Вода"
    "<user>Отгадай. Строка ответа: «Ответ: слово».\nЗагадка 2?<assistant>Ответ: Огонь"
)


@pytest.mark.parametrize(
    ("task", "arguments", "expected"),
    [
        ("riddles_closed", {}, f"<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"num_fewshot": 2}, f"{CHAT_SHOTS}<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"system_instruction": "Кратко."}, f"<system>Кратко.<user>{RIDDLE_1}<assistant>"),
        ("riddles_closed", {"num_fewshot": 2, "fewshot_as_multiturn": False}, f"<user>{RIDDLE_2_SHOTS}<assistant>"),
        ("riddles_closed_prefill", {}, f"<user>{RIDDLE_1}<assistant>Ответ:"),
        ("riddles_closed_prefill", {"num_fewshot": 2}, f"{CHAT_SHOTS}<user>{RIDDLE_1}<assistant>Ответ:"),
    ],
)
def test_chat_prompts(root: Path, task: str, arguments: dict[str, Any], expected: str) -> None:
    assert prompts(root, task, apply_chat_template=True, **arguments) == [expected]


def test_a_riddles_shot_is_answered_with_its_first_accepted_answer(tmp_path: Path) -> None:
    shots = [riddle(2, "Снег; Первый снег"), riddle(3, " ;  Огонь;Пламя "), riddle(4, "Вода")]
    data_folder(tmp_path, "riddles", [riddle(1)], shots)
    [text] = prompts(tmp_path, "riddles_closed", num_fewshot=3)
    answers = [line for line in text.split("\n") if line.startswith("Ответ:")]
    assert sorted(answers) == ["Ответ: Вода", "Ответ: Огонь", "Ответ: Снег"]
