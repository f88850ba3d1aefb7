"""Step 4 of reading a response, for options: the letters that a line answers with."""

from __future__ import annotations

import re

from mera_ru_tasks.scoring.normalize import LOOK_ALIKES, WORD

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
        return None  # most lines are settled by their first word
    line = _IN_BRACKETS.sub(lambda match: f"{match[match.lastindex or 0]})", line)
    line = _QUOTED.sub(lambda match: match[match.lastindex or 0], line)
    words = _Words(line)
    at = 0
    while (word := words.get(at)) is not None and word[0].lower() in LEAD_WORDS:
        at += 1
    if word is None:
        return None
    run = _run(word[0], letters)
    if run and words.get(at + 1) is None:
        return run, line[word.end() :]
    found: list[str] = []
    end = word.start()
    while True:
        at += _conjunction(words, at)
        word, letter = words.get(at), _letter_at(words, at, letters)
        if word is None or letter is None or _CLOSING.sub("", line[end : word.start()].lower()) not in _SEPARATORS:
            break
        if not letter:
            return None
        found.append(letter)
        end = word.end()
        at += 1
    return (found, line[end:]) if found else None


class _Words:
    """The words of a line, found one by one as they are asked for: few are."""

    def __init__(self, line: str) -> None:
        self.line = line
        self._found: list[re.Match[str]] = []
        self._coming = WORD.finditer(line)

    def get(self, at: int) -> re.Match[str] | None:
        """The word number `at`, from 0; None behind the last."""
        while len(self._found) <= at:
            word = next(self._coming, None)
            if word is None:
                return None
            self._found.append(word)
        return self._found[at]


def _run(word: str, letters: str) -> list[str]:
    """The letters of a word that is several of them without separators, capital and in order: `АЕ`; else none."""
    if not (1 < len(word) <= len(letters) and word.isupper()):
        return []
    found = list(word.translate(LOOK_ALIKES))
    return found if found == sorted(set(found)) and set(found) <= set(letters) else []


def _conjunction(words: _Words, at: int) -> int:
    """How many words the «и» or «а также» takes that stands at `at`."""
    word, following = words.get(at), words.get(at + 1)
    if word is None or following is None:
        return 0
    if word[0].lower() in _AND:
        return 1
    return 2 if word[0] == "а" and following[0] == "также" else 0


def _letter_at(words: _Words, at: int, letters: str) -> str | None:
    """The option letter that a word of a line is: "" for a letter outside the range, None for a word of a sentence."""
    word, following = words.get(at), words.get(at + 1)
    letter = as_letter(word[0], letters) if word is not None else None
    if word is None or letter is None or following is None:
        return letter
    if not letter and word[0].islower() and words.line[word.end()] == ".":
        return None  # an abbreviation, as in «т. к.»
    if len(following[0]) == 1 or following[0].lower() in _AND:
        return letter
    gap = words.line[word.end() : following.start()].strip()
    is_function_word = word[0].translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and (
        (not gap and following[0].lower() not in JUDGING) or (gap == "," and word[0].islower())
    )
    is_abbreviation = word[0] in _ABBREVIATIONS and gap == "." and following[0][0].isupper()
    return None if is_function_word or is_abbreviation else letter


def as_letter(word: str, letters: str) -> str | None:
    """The option letter that a word looks like: "" for one outside the range, None for a longer word or a digit."""
    if len(word) != 1 or not word.isalpha():
        return None
    letter = word.translate(LOOK_ALIKES).upper()
    return letter if letter in letters else ""
