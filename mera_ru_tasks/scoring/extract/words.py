"""The one table of words by which answer extraction understands a clause.

Every answer format and every place of a clause uses this table. A word has one kind; a word outside the table is
content. `*` stands for any ending.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from mera_ru_tasks.scoring.normalize import WORD

_TABLE = {
    # Words that deny: alone («неверно»), or before an approving word («не подходит»).
    "negation": "не ни not нельзя вряд",
    "denial": "неверн* неверен неправильн* ошибоч* ошибка ошибкой ложн* ложь исключ* отпада* отброс* противореч* "
    "false wrong incorrect нет no ❌ ✗ ✘ ✖ ❎ 🚫",
    "approval": "подход* подойд* подойти соответств* годит* верен верн* правильн* true correct right да yes ✅ ✔ ✓ ☑",
    # Words that take back what was said, or turn to something else.
    "retraction": "передума* ошибся ошиблась исправл* поправ* меняю стоп погоди* подожди* отмена виноват беру "
    "постой* ой упс wait oops correction неправ отказыва* пересмотр*",
    "turn": "хотя впрочем точнее вернее правильнее все-таки actually лучше извини* прости* прощения sorry деле "
    "скорее вместо",
    # Words that put another answer beside the first, or speak of other answers.
    "or": "или либо or",
    "addition": "возмож* вероятн* может наверн* также тоже еще альтернатив* запасн* maybe perhaps also alternat*",
    "others": "остальн* други* друго* другая второ* вторая",
    "narrowing": "только only",
    # Words around an answer that do not change it.
    "lead": "я ну можно стоит думаю считаю полагаю кажется похоже видимо всего конечно итак значит таким "
    "образом поэтому итог* вот мне окончательн* финальн* мой хм так что so the is my final вношу по-моему",
    "link": "но однако и а в на к бы же быть был* будет явля* выбира* выбра* ответить самом именно все "
    "следующ* сразу больше and of то это*",
    "choice": "ответ ответом вариант* фраз* текст* букв* продолжени* отгадк* слов* языков* единиц* answer* option* "
    "choice верси*",
    "topic": "вопрос* загадк* формулировк* смысл*",
    # Words that make a clause something else than a statement of the answer.
    "condition": "если if would",
    "seeming": "сначала показ* казал* подум* думал* перв*",
    "example": "пример*",
    "reason": "потому поскольку ведь пояснени* объяснени* комментари* because",
    "pronoun": "он она оно его кто когда котор* как",
    "closing": "спасибо удачи готово end done user assistant system model",
}
_EXACT = {word: kind for kind, words in _TABLE.items() for word in words.split() if word[-1] != "*"}
_STEMS = re.compile(
    "|".join(
        f"(?P<{kind}>{'|'.join(word[:-1] for word in words.split() if word[-1] == '*')})"
        for kind, words in _TABLE.items()
        if "*" in words
    )
)
# Kinds of words by which a clause can say something of an answer, and a quick search for those that take it back.
TELLING = frozenset({"denial", "approval", "retraction", "turn", "or", "addition", "others", "narrowing"})
_BEFORE_ANSWER = "вариант|ответом|верси|выбира|выбер"  # nouns and verbs right before an answer
ANSWER = re.compile(_BEFORE_ANSWER)
TELLING_STEM = re.compile(
    "|".join([_BEFORE_ANSWER, *(word.strip("*") for word in _TABLE["retraction"].split() if len(word) > 3)])
)
# Marks that stand for a word; a word with hyphens is one.
MARK = re.compile("[✅✔✓☑❌✗✘✖❎🚫]")
_TOKEN = re.compile(rf"{WORD.pattern}(?:-{WORD.pattern})*|{MARK.pattern}")
# What begins a line of a list, in cleaned text.
BULLET = re.compile(r"^\s*(?:[-•–—·‣▪●○◦►▸→]|\d{1,2}[.)])\s+")


@functools.lru_cache(maxsize=8192)
def kind_of(word: str) -> str:
    """Return the kind of a word in any case: `number`, a kind of the table, or empty for content."""
    if word.isdigit():
        return "number"
    word = word.lower().replace("ё", "е")
    if word in _EXACT:
        return _EXACT[word]
    stem = _STEMS.match(word)
    return (stem.lastgroup or "") if stem else ""


def tokens_of(text: str) -> list[re.Match[str]]:
    """Return the words of a text and its check marks, in order."""
    return list(_TOKEN.finditer(text))


def kinds_of(text: str) -> Iterator[str]:
    """Yield the kind of each word and check mark of a text."""
    return (kind_of(token[0]) for token in _TOKEN.finditer(text))
