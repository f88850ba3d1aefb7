"""Step 4 of reading a response, for options: the letters that a line answers with."""

from __future__ import annotations

import re
from itertools import islice

from mera_ru_tasks.reading.text import LOOK_ALIKES, WORD

# Words that may lead over to letters or follow them, «подходит Б» and «Б подходит»; and those that only lead over.
# «Неверный» and its like are not among them: with those a letter is no answer.
AFFIRMING = frozenset(
    """
    подходит подходят верен верна верно верны верный верные верным верными правильный правильные правильно правильным
    правильными является являются вариант варианты ответ ответы текст
    """.split()
)
LEAD_WORDS = AFFIRMING | frozenset(
    """
    это только конечно разумеется очевидно безусловно несомненно выбираю будет под
    варианта вариантом вариантами ответа буква буквы букву буквой буквами опция опции пункт пункты
    номер тексты фраза фразы фразу продолжение продолжения подходящий подходящие следующий следующие
    """.split()
)
# Before these, «А» is a letter rather than a conjunction: «А тоже подходит».
JUDGING = AFFIRMING | {"тоже", "также"}
# Letters and all that leads over to them take fewer words.
_MOST_WORDS = 24
_AND = frozenset(["и", "and", "плюс"])
# Single letters that are also words of a sentence.
_ONE_LETTER_WORDS = frozenset("АВИОУКСЯI")
# Lower-case letters that abbreviate a word before a name: «г. Тверь», «д. Сосновка».
_ABBREVIATIONS = frozenset("гд")
# A single letter in quotes, which are as good as none, or in brackets, which are as good as the closing one: `Б) text`.
_LETTER = r" ?([^\W\d_]) ?"
_QUOTED = re.compile(rf"\"{_LETTER}\"|'{_LETTER}'|{{{_LETTER}}}|<{_LETTER}>")
_IN_BRACKETS = re.compile(rf"\({_LETTER}\)|\[{_LETTER}\]")
_CLOSING = re.compile(r"[\s\"')\]}>]+")
_SIGNS = ("", ";", ",", "/", "|", "&", "+", "•", ".;", ".,")
# All that may stand between two letters of an answer, without spaces and what closes quotes and brackets.
_SEPARATORS = frozenset(sign + word for sign in _SIGNS for word in ("", *_AND, "атакже"))


def parse_letters(line: str, letters: str) -> tuple[list[str], str] | None:
    """Read option letters at the head of a line.

    Args:
        line: cleaned text.
        letters: the task's letters.

    Returns:
        The letters as written, in the task's alphabet, and the rest of the line behind them; None where the line does
        not begin with letters, or where one of them is outside the task's range.
    """
    first = WORD.search(line)
    if first is None or (len(first[0]) > 1 and first[0].lower() not in LEAD_WORDS and not _run(first[0], letters)):
        return None  # so much is seen without going through the line
    line = _IN_BRACKETS.sub(r"\1\2)", _QUOTED.sub(r"\1\2\3\4", line))
    words = list(islice(WORD.finditer(line), _MOST_WORDS))
    at = 0
    while at < len(words) and words[at][0].lower() in LEAD_WORDS:
        at += 1
    if at == len(words) - 1 and (run := _run(words[at][0], letters)):
        return run, line[words[at].end() :]
    found: list[str] = []
    end = words[at].start() if at < len(words) else 0
    while at < len(words):
        at += _conjunction(words, at)
        letter = _letter_at(line, words, at, letters)
        gap = line[end : words[at].start()] if at < len(words) else ""
        if letter is None or _CLOSING.sub("", gap.lower()) not in _SEPARATORS:
            break
        if not letter:
            return None
        found.append(letter)
        end = words[at].end()
        at += 1
    return (found, line[end:]) if found else None


def _run(word: str, letters: str) -> list[str]:
    """The letters of a word that is several of them without separators, capital and in order: `АЕ`; else none."""
    found = list(word.translate(LOOK_ALIKES))
    good = len(found) > 1 and found == sorted(set(found)) and set(found) <= set(letters)
    return found if good else []


def _conjunction(words: list[re.Match[str]], at: int) -> int:
    """How many words the «и» or «а также» takes that stands at `at`."""
    word = words[at][0].lower()
    if word in _AND:
        return 1
    return 2 if word == "а" and at + 1 < len(words) and words[at + 1][0].lower() == "также" else 0


def _letter_at(line: str, words: list[re.Match[str]], at: int, letters: str) -> str | None:
    """The option letter that a word of a line is: "" for a letter outside the range, None for a word of a sentence."""
    if at >= len(words):
        return None
    word = words[at][0]
    letter = as_letter(word, letters)
    following = words[at + 1] if at + 1 < len(words) else None
    if letter is None or following is None or len(following[0]) == 1 or following[0].lower() in _AND:
        return letter
    gap = line[words[at].end() : following.start()].strip()
    is_function_word = word.translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and (
        (not gap and following[0].lower() not in JUDGING) or (gap == "," and word.islower())
    )
    is_abbreviation = word in _ABBREVIATIONS and gap == "." and following[0][0].isupper()
    return None if is_function_word or is_abbreviation else letter


def as_letter(word: str, letters: str) -> str | None:
    """The option letter that a word looks like: "" for one outside the range, None for a longer word or a digit."""
    if len(word) != 1 or not word.isalpha():
        return None
    letter = word.translate(LOOK_ALIKES).upper()
    return letter if letter in letters else ""
