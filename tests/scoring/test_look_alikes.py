"""Look-alikes from other alphabets, invisible characters and unusual spaces."""

import pytest

from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, check

ROWS = [
    (SEVERAL, "А; В; Е", "Ответ: A; B; E", "А; В; Е", 1),
    (SEVERAL, "А; В; Е", "Ответ: A; В; E", "А; В; Е", 1),
    (SEVERAL, "А; Е", "Ответ: A; Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ: а; Е, a", "А; Е", 1),
    (SEVERAL, "А; Е", "A Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ: a; e", "А; Е", 1),
    (SEVERAL, "А; В; Е", "Ответ: Α; Β; Ε", "А; В; Е", 1),
    (ONE, "Г", "Ответ: Γ", "Г", 1),
    (SEVERAL, "А; Е", "Ответ: Ａ；Ｅ", "А; Е", 1),
    (SEVERAL, "А", "Ответ: Ⓐ", "А", 1),
    (ONE, "В", "Ответ: B. Соседи топили баню.", "В", 1),
    (ONE, "Б", "Ответ: B", "В", 0),
    (ONE, "А", "A", "А", 1),
    (SEVERAL, "А; Е", "Oтвет: А; Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Отвeт: А; Е", "А; Е", 1),
    (SEVERAL, "А; Е", "OTBET: А; Е", "А; Е", 1),
    (PHRASE, "сосна", "Ответ: cосна", "сосна", 1),
    (PHRASE, "сосна", "Ответ: СOCНА", "сосна", 1),
    (PHRASE, "сосна", "Ответ: coснa", "сосна", 1),
    (PHRASE, "сор", "Ответ: cop", "cop", 1),
    (PHRASE, "DVD; двд", "Ответ: DVD", "dvd", 1),
    (UNIT, "В; ветка", "Ответ: B; вeткa", "В; ветка", 1),
    # Invisible characters.
    (SEVERAL, "А; Е", "\ufeffОтвет: А;\u200bЕ", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ:\u200b А\u200d; Е\u2060", "А; Е", 1),
    (SEVERAL, "А; Е", "От\u00adвет: А; Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ\u200e: \u202aА; Е\u202c", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ: А; Е\x00", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ: А; Е\ufffd", "А; Е", 1),
    (PHRASE, "сосна", "Ответ: сос\u00adна", "сосна", 1),
    (PHRASE, "сосна", "Ответ: сосна\u200b", "сосна", 1),
    (PHRASE, "сосна", "\u200bсосна", "сосна", 1),
    (UNIT, "В; ветка", "Ответ: В;\u2060ветка", "В; ветка", 1),
    # Spaces of every kind.
    (SEVERAL, "А; Е", "Ответ:\u00a0А;\u00a0Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ\u00a0: А; Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ:\tА;\tЕ", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ:\u2009А;\u3000Е", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ: А; Е\u2028Обе хвалят", "А; Е", 1),
    (SEVERAL, "А; Е", "Ответ:▁А;▁Е", "А; Е", 1),
    (PHRASE, "дед мороз", "Ответ: дед\u00a0мороз", "дед мороз", 1),
]


@pytest.mark.parametrize("row", ROWS)
def test_look_alikes(row):
    check(row)
