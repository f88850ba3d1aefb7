"""Step 4 of answer extraction, for options: the letters at the head of a line, and those that a clause names."""

from __future__ import annotations

import re
from typing import NamedTuple

from mera_ru_tasks.scoring.extract.clauses import Clause, Mention
from mera_ru_tasks.scoring.extract.words import kind_of
from mera_ru_tasks.scoring.normalize import LOOK_ALIKES, WORD

_LEADING = frozenset({"lead", "choice", "approval", "link", "narrowing", "addition"})
# Single letters that are also words of a sentence, and those that abbreviate a word before a name: «г. Тверь».
_ONE_LETTER_WORDS, _ABBREVIATIONS = frozenset("АВИОУКСЯI"), frozenset("гд")
# Kinds of words before which «А» is a letter rather than a conjunction: «А тоже подходит».
_JUDGING = frozenset({"approval", "denial", "negation", "addition", "narrowing"})
# Behind these a clause only speaks of an option: «в тексте Б».
_ABOUT = re.compile("в|на|с|про|об?|от|у|из|для|кроме", re.IGNORECASE)
# One letter, what may stand between two letters of an answer, and a run of them.
_ONE = re.compile(r"(?<![^\W_])(?!(?:и|and|а также)\b)[^\W\d_](?![^\W_]|[\u0300-\u036f])", re.IGNORECASE)
_OPEN, _CLOSE = r"[\s\"'{<]{0,4}(?:[(\[](?= ?[^\W\d_] ?[)\]]) ?)?", r"[\s\"')\]}>]{0,4}"
_BETWEEN = rf"{_CLOSE}(?:(?:\.?[;,]|[/|&+•、]){_OPEN})?(?:(?:и|and|а также)\b)?{_OPEN}"
_RUN = re.compile(rf"(?:и\b{_OPEN})?{_ONE.pattern}(?:{_BETWEEN}{_ONE.pattern})*", re.IGNORECASE)
_CAPITAL = re.compile(r"[А-ЯA-ZΑ-Ωбгде](?<![^\W_].)(?<![бгде](?=[.-]))(?![^\W_]|[\u0300-\u036f]|-\w)")


class Run(NamedTuple):
    """Letters at the head of a line, empty if one is outside the range; the rest; True if words lead over to them."""

    letters: list[str]
    rest: str
    led: bool


def letters_at_head(line: str, choices: str) -> Run | None:
    """Read the option letters at the head of a line, behind words such as «вариант»; None if it begins otherwise."""
    word, led = WORD.search(line), False
    while word is not None and _leads(line, word):
        word, led = WORD.search(line, word.end()), True
    if word is None:
        return None
    joined = list(word[0].translate(LOOK_ALIKES))  # «АЕ»
    if 1 < len(joined) <= len(choices) and word[0].isupper() and not WORD.search(line, word.end()):
        return (
            Run(joined, line[word.end() :], led)
            if joined == sorted({*joined} & {*choices}, key=choices.index)
            else None
        )
    run = _RUN.match(line, word.start())
    letters: list[str] = []
    end = word.start()
    for place in _ONE.finditer(line, run.start(), run.end()) if run else ():
        letter = as_letter(place[0], choices)
        if letter is None or _is_word(line, place, letter):
            break
        if not letter:
            if letters and line[end : place.start()].strip() == ")":
                break  # the option's text: «Б) Я у неё…»
            return Run([], "", led)
        letters.append(letter)
        end = place.end()
    return Run(letters, line[end:], led) if letters else None


def _leads(line: str, word: re.Match[str]) -> bool:
    """Return True if a word only leads over to the letters: «вариант», «и», «в» before «тексте»."""
    if len(word[0]) > 1:
        return kind_of(word[0]) in _LEADING
    following = (
        WORD.match(line, word.end() + 1) if word[0] in "авИи" and line[word.end() : word.end() + 1] == " " else None
    )
    if following is None:
        return False
    return word[0] in "Ии" or (kind_of(following[0]) in ("choice", "link") and len(following[0]) > 1)


def _is_word(line: str, place: re.Match[str], letter: str) -> bool:
    """Return True if a single letter is a word of a sentence: «А вот», «г. Тверь», «т. к.»."""
    following = WORD.search(line, place.end())
    if following is None or (not letter and place[0].islower() and line[place.end()] in ". "):
        return following is not None
    gap = line[place.end() : following.start()].strip()
    if len(following[0]) == 1 or following[0].lower() == "and":
        return not letter and not gap and following[0] in "вксоу"  # «Я в этом …»
    if place[0] in _ABBREVIATIONS and gap == "." and following[0][0].isupper():
        return True
    is_plain = gap == "" and (kind_of(following[0]) not in _JUDGING or following[0] == "не")
    is_interjection = gap == "," and place[0].islower()
    return place[0].translate(LOOK_ALIKES).upper() in _ONE_LETTER_WORDS and (is_plain or is_interjection)


def as_letter(word: str, choices: str) -> str | None:
    """Return the option letter that a word looks like: "" for one outside the range, None for a longer word."""
    letter = word.translate(LOOK_ALIKES).upper() if len(word) == 1 and word.isalpha() else None
    return letter if letter is None or letter in choices else ""


def letters_in(text: str, choices: str) -> list[tuple[str, int]]:
    """Return the option letters that a clause names, with their places; «А» and «В» as its first words are none."""
    found = ((as_letter(match[0], choices), match) for match in _CAPITAL.finditer(text))
    return [(letter, match.start()) for letter, match in found if letter and not _begins_sentence(text, match)]


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
    is_first = clause.tokens[0].start() in places
    is_pure = "" not in others
    numbers = [number for number, token in enumerate(clause.tokens) if token.start() in places]
    is_last = clause.text[clause.tokens[numbers[-1]].end() :][:1] in ("", ";") if numbers else False
    before = [token for token, kind in zip(clause.tokens[: numbers[0]], clause.kinds, strict=False) if kind != "choice"]
    is_last = is_last and bool(before) and not _ABOUT.fullmatch(before[-1][0])
    is_stated = is_pure or "approval" in others or is_last
    return Mention(frozenset(letter for letter, _ in found), is_stated, is_pure or is_last, is_first, closed=True)
