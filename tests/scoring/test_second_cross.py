"""A second cross, written after the last change of the extraction, which was not tuned on it.

`OPEN` names the tails that are judged wrongly. They count the same in every place, too.
"""

from collections import defaultdict

from tests.scoring.test_cross import Base, cross
from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, flexible

WRONG = """
Хотя, если вдуматься, больше подходит {o}.
Нет, постойте, это {o}.
Возможно также {o}.
Либо это {o}.
Но нельзя исключать и {o}.
Хотя, может быть, всё-таки {o}.
Вру, правильный ответ — {o}.
Нет, я ошиблась, здесь {o}.
Вторая возможная отгадка — {o}.
Есть и другой ответ: {o}.
Однако правильнее будет {o}.
Впрочем, верным может быть и {o}.
Скорее даже {o}.
Этот ответ не подходит.
Это неправильный ответ, правильный — {o}.
Ответ ошибочный.
Хотя нет, неверно.
Передумала: {o}.
Нет, лучше {o}.
А вернее всего {o}.
Maybe {o}.
Подошёл бы и {o}.
Исправлю ответ: {o}.
""".strip().splitlines()
RIGHT = """
Это видно по последней строке.
Объясню: слово здесь стоит в прямом смысле.
Ведь остальные варианты нелепы.
В остальных вариантах смысл нарушен.
Иные ответы не годятся.
{o} не годится.
{o} я исключаю.
Но не {o}.
Вариант {o} явно лишний.
Сперва казалось, что это {o}, но это ошибочно.
Это точно.
Сомнений нет.
Я так думаю.
Мне это кажется самым разумным.
Вероятность ошибки мала.
Хотя утверждать трудно.
Все признаки указывают именно на это.
Подсказка в слове «последний».
Потому что так говорится в тексте.
Пояснение: остальное противоречит условию.
Обращайтесь ещё!
Если хотите, разберу остальные варианты.
Правильность легко проверить.
Вывод: остальное отпадает.
""".strip().splitlines()
BASES = [
    Base(ONE, "Г", "Б"),
    Base(SEVERAL, "Б; Д", "А"),
    Base(UNIT, "А; окурок", "В; сигарета"),
    Base(PHRASE, "самовар", "чайник"),
]
CASES = list(cross(WRONG, RIGHT, BASES))
OPEN = {"Подошёл бы и {o}.", "Вариант {o} явно лишний.", "Обращайтесь ещё!"}


def test_every_other_tail_is_judged_by_the_policy_and_all_alike_in_every_place():
    verdicts = defaultdict(set)
    for base, tail, _, response, right in CASES:
        verdicts[tail, base].add(flexible(base.answer_format, base.answer, response)["exact_match"] == right)
    assert {len(found) for found in verdicts.values()} == {1}
    assert {tail for (tail, _), found in verdicts.items() if found != {True}} == OPEN
