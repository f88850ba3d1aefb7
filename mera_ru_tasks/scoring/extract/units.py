"""Step 5 of reading a response, for an option with a language unit: `Б; лужа`."""

from __future__ import annotations

import re

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.scoring.extract import tails
from mera_ru_tasks.scoring.extract.letters import LEAD_WORDS, as_letter, parse_letters
from mera_ru_tasks.scoring.extract.mentions import further_labels, is_taken_back, named, without_refuted
from mera_ru_tasks.scoring.extract.phrases import count_words, is_bare_phrase, is_sentence, parse_phrase
from mera_ru_tasks.scoring.extract.text import BULLET
from mera_ru_tasks.scoring.normalize import WORD

# More words that nothing or only a comma parts from the letter are a sentence.
_MOST_WORDS = 3
_NOUN = re.compile(r"\W*(?:слово|(?:языковая )?единица|синоним|регионализм)(?: ?[:—–=] ?| (?=\w))", re.IGNORECASE)


def letter_and_unit(lines: list[str], answer_format: AnswerFormat) -> str:
    """Read `letter; unit` from the first line; the letter alone where there is no unit, not even on the next line.

    Args:
        lines: cleaned lines, the first not empty.
        answer_format: the task's.

    Returns:
        `Б; лужа` or `Б`; empty where no letter is unmistakable.
    """
    line = BULLET.sub("", lines[0])
    parsed = parse_letters(line, answer_format.choices)
    if parsed is None:
        return _unit_and_letter(line, answer_format.choices)
    found = parsed[0]
    rest = without_refuted(found, parsed[1], answer_format.choices)
    if (
        len(set(found)) > answer_format.max_choices
        or rest is None
        or further_labels(found, rest, answer_format.choices) != []
    ):
        return ""
    following = WORD.search(rest)
    unit = _unit_behind(rest, following) if following else _unit_below(lines[1:], answer_format.choices)
    below = lines[1:]
    if is_taken_back(below, found, answer_format.choices) or (
        unit and _is_another(below, found, answer_format.choices)
    ):
        return ""
    return "" if unit is None else "; ".join(filter(None, (found[0], unit)))


def _unit_behind(rest: str, following: re.Match[str]) -> str | None:
    """The unit behind the letter on its line, the word `following` on; empty if there is none, None for a sentence."""
    gap = rest[: following.start()]
    if tails.takes_back(rest) or tails.is_doubtful(gap, following[0]):
        return None
    if tails.gives_reason(rest):
        return ""
    unit = parse_phrase(_without_noun(rest))
    unit = "" if is_sentence(unit) else unit
    sign = tails.sign_behind_letters(gap)
    if sign in ("", ","):
        return unit if unit and count_words(unit) <= _MOST_WORDS else None
    return unit


def _without_noun(text: str) -> str:
    """The text without «слово» or its like before the unit."""
    noun = _NOUN.match(text)
    return text[noun.end() :] if noun else text


def _is_another(lines: list[str], found: list[str], letters: str) -> bool:
    """Whether the first line below an answer is another, perhaps behind «или», or a later one is but a letter."""
    for number, line in enumerate(filter(None, lines)):
        parsed = parse_letters(tails.without_or(BULLET.sub("", line)), letters)
        is_other = parsed is not None and not set(parsed[0]) <= set(found)
        if parsed is not None and is_other and (WORD.search(parsed[1]) is None or (not number and line is lines[0])):
            return True
    return False


def _unit_below(lines: list[str], letters: str) -> str | None:
    """The unit on the line below the letter's; empty if something else is there, None if it hedges the letter."""
    if len(lines) == 2 and not lines[0]:
        lines = lines[1:]  # a unit below an empty line, and nothing else
    line = BULLET.sub("", lines[0]) if lines else ""
    if (tails.hedges(line) and named(line, letters)) or parse_letters(line, letters):
        return None
    line = _without_noun(line)
    return parse_phrase(line) if is_bare_phrase(line) and not tails.gives_reason(line) else ""


def _unit_and_letter(line: str, letters: str) -> str:
    """Read the other order, `лужа; Б` or `лужа (вариант Б)`."""
    words = list(WORD.finditer(line))
    if not words:
        return ""
    letter = as_letter(words[-1][0], letters)
    before = len(words) - 1
    while before and words[before - 1][0].lower() in LEAD_WORDS:
        before -= 1
    if not letter or not before or not words[-1][0].isupper():
        return ""
    unit = line[: words[before - 1].end()]
    gap = line[len(unit) : words[before].start()].strip("\"' ")
    phrase = parse_phrase(unit)
    if gap[:1] not in (";", ",", "(", "[", "—", "–", "-") or "?" in line or is_sentence(unit) or named(unit, letters):
        return ""
    return f"{letter}; {phrase}" if phrase and count_words(unit) <= _MOST_WORDS else ""
