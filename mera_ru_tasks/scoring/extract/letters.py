"""Step 4 of answer extraction, for options: the letters at the head of a line, and those that a clause names."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from mera_ru_tasks.scoring.extract.clauses import Clause, Mention
from mera_ru_tasks.scoring.extract.words import kind_of
from mera_ru_tasks.scoring.normalize import LOOK_ALIKES, WORD

_LEADING = frozenset({"lead", "choice", "approval", "link", "narrowing", "addition"})
_AND = frozenset(["и", "and"])
# Single letters that are also words of a sentence, and those that abbreviate a word before a name: «г. Тверь».
_ONE_LETTER_WORDS = frozenset("АВИОУКСЯI")
_ABBREVIATIONS = frozenset("гд")
# Kinds of words before which «А» is a letter rather than a conjunction: «А тоже подходит».
_JUDGING = frozenset({"approval", "denial", "negation", "addition", "narrowing"})
# A single letter in quotes, which are dropped, or in brackets, of which the closing one is kept: `Б) text`.
_LETTER = r" ?([^\W\d_]) ?"
_QUOTED = re.compile(rf"\"{_LETTER}\"|'{_LETTER}'|{{{_LETTER}}}|<{_LETTER}>")
_IN_BRACKETS = re.compile(rf"\({_LETTER}\)|\[{_LETTER}\]")
_CLOSING = re.compile(r"[\s\"')\]}>]+")
# What may stand between two letters of an answer, without spaces and closing signs.
_SEPARATORS = frozenset(
    sign + word for sign in ("", ";", ",", "/", "|", "&", "+", "•", "、", ".;", ".,") for word in ("", *_AND, "атакже")
)
_CAPITAL = re.compile(r"[А-ЯA-ZΑ-Ωбгде](?<![^\W_].)(?<![бгде](?=[.-]))(?![^\W_]|[\u0300-\u036f]|-\w)")
# This many words of a line are looked at.
_MOST_WORDS = 60


class Run(NamedTuple):
    """Letters at the head of a line.

    Attributes:
        letters: in the task's alphabet, as written; empty if one is outside the range.
        rest: the line behind them.
        led: True if other words stand before them.
    """

    letters: list[str]
    rest: str
    led: bool


def letters_at_head(line: str, choices: str) -> Run | None:
    """Read the option letters at the head of a line, behind words such as «вариант»; None if it begins otherwise."""
    line = _IN_BRACKETS.sub(lambda match: f"{match[match.lastindex or 0]})", line)
    line = _QUOTED.sub(lambda match: match[match.lastindex or 0], line)
    words = list(islice(WORD.finditer(line), _MOST_WORDS))
    first = 0
    while first < len(words) and _leads(words, first):
        first += 1
    if first == len(words):
        return None
    run = _run(words[first][0], choices)
    if run and first + 1 == len(words):
        return Run(run, line[words[first].end() :], first > 0)
    found: list[str] = []
    at, end = first, words[first].start()
    while True:
        at += _conjunction(words, at)
        letter = _letter_at(line, words, at, choices)
        if letter is None:
            break
        gap = line[end : words[at].start()].lower()
        if _CLOSING.sub("", gap) not in _SEPARATORS:
            break
        if not letter:
            if found and gap.strip() == ")":
                break  # the option's text: «Б) Я у неё…»
            return Run([], "", first > 0)
        found.append(letter)
        end = words[at].end()
        at += 1
    return Run(found, line[end:], first > 0) if found else None


def _leads(words: list[re.Match[str]], at: int) -> bool:
    """Return True if a word only leads over to the letters."""
    word = words[at][0]
    if len(word) > 1 or word.lower() in _AND:
        return kind_of(word) in _LEADING
    # «в тексте Б»: a preposition, unless signs part it from the next word
    following = words[at + 1] if at + 1 < len(words) else None
    return (
        word in "ав"
        and following is not None
        and following.start() - words[at].end() == 1
        and kind_of(following[0]) in ("choice", "link")
        and len(following[0]) > 1
    )


def _run(word: str, choices: str) -> list[str]:
    """Return the letters of a word that is several of them, capital and in order (`АЕ`); else none."""
    if not (1 < len(word) <= len(choices) and word.isupper()):
        return []
    found = list(word.translate(LOOK_ALIKES))
    return found if found == sorted(set(found)) and set(found) <= set(choices) else []


def _conjunction(words: list[re.Match[str]], at: int) -> int:
    """Return how many words the «и» or «а также» takes that stands at `at`."""
    pair = [word[0].lower() for word in words[at : at + 2]]
    if len(pair) < 2:
        return 0
    return 1 if pair[0] in _AND else 2 if pair == ["а", "также"] else 0


def _letter_at(line: str, words: list[re.Match[str]], at: int, choices: str) -> str | None:
    """Return the option letter that a word is: "" for one outside the range, None for a word of a sentence."""
    if at >= len(words):
        return None
    word, following = words[at], words[at + 1] if at + 1 < len(words) else None
    letter = as_letter(word[0], choices)
    if letter is None or following is None:
        return letter
    if not letter and word[0].islower() and line[word.end()] in ". ":
        return None  # an abbreviation or a preposition, as in «т. к.»
    if len(following[0]) == 1 or following[0].lower() in _AND:
        return letter
    gap = line[word.end() : following.start()].strip()
    is_function_word = word[0].translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and (
        (not gap and (kind_of(following[0]) not in _JUDGING or following[0] == "не"))
        or (gap == "," and word[0].islower())
    )
    is_abbreviation = word[0] in _ABBREVIATIONS and gap == "." and following[0][0].isupper()
    return None if is_function_word or is_abbreviation else letter


def as_letter(word: str, choices: str) -> str | None:
    """Return the option letter that a word looks like: "" for one outside the range, None for a longer word."""
    if len(word) != 1 or not word.isalpha():
        return None
    letter = word.translate(LOOK_ALIKES).upper()
    return letter if letter in choices else ""


def letters_in(text: str, choices: str) -> list[tuple[str, int]]:
    """Return the option letters that a clause names, with their places; «А» and «В» as its first words are none."""
    found = []
    for match in _CAPITAL.finditer(text):
        letter = as_letter(match[0], choices)
        if letter and not _begins_sentence(text, match):
            found.append((letter, match.start()))
    return found


def _begins_sentence(text: str, capital: re.Match[str]) -> bool:
    """Return True if a capital is a conjunction or preposition as the first word of a clause."""
    following = WORD.search(text, capital.end())
    if capital[0].translate(LOOK_ALIKES) not in _ONE_LETTER_WORDS or following is None:
        return False
    if WORD.search(text, 0, capital.start()) or len(following[0]) == 1:
        return False
    if following[0] == "не" and _CAPITAL.match(text, following.end() + 1):
        return True  # «А не Б»
    return text[capital.end() : following.start()] in (" ", ", ") and kind_of(following[0]) not in _JUDGING


def letter_mention(clause: Clause, choices: str) -> Mention:
    """Return the letters that a clause names. They are stated if it has no other content, or approves of them."""
    found = letters_in(clause.text, choices)
    if not found:
        return Mention()
    places = {place for _, place in found}
    others = [kind for token, kind in zip(clause.tokens, clause.kinds, strict=True) if token.start() not in places]
    pure = "" not in others
    is_first = clause.tokens[0].start() in places
    return Mention(frozenset(letter for letter, _ in found), pure or "approval" in others, pure, is_first)
