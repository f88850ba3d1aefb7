"""Step 5 of reading a response, for options: the letters of a line and of several lines, in canonical form."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.scoring.extract import tails
from mera_ru_tasks.scoring.extract.letters import AFFIRMING, LEAD_WORDS, parse_letters
from mera_ru_tasks.scoring.extract.mentions import further_labels, is_taken_back, named, without_refuted
from mera_ru_tasks.scoring.extract.text import BULLET, LIMIT
from mera_ru_tasks.scoring.normalize import WORD, is_longer, normalize

_LATIN = re.compile("[A-Za-z]")


@dataclass(frozen=True)
class Letters:
    """What a line answers with.

    Attributes:
        found: option letters in the task's alphabet, as written: unsorted, perhaps twice.
        explained: whether the line says more than the letters.
        listed: whether the line begins with a bullet or a number.
    """

    found: list[str]
    explained: bool
    listed: bool


def letters_of_line(line: str, letters: str) -> Letters | None:
    """The letters that a whole line answers with, where the rest of it only explains them; None where it is not so."""
    text = BULLET.sub("", line)
    listed = text != line
    parsed = parse_letters(text, letters)
    if parsed is None or tails.is_crossed(text):
        return None
    found = parsed[0]
    rest = without_refuted(found, parsed[1], letters)
    if rest is None or tails.is_table(rest):
        return None
    if tails.narrows(rest) and named(rest, letters) & set(found) not in (set(), set(found)):
        return None  # «А; Б; В — варианты, верен только А»
    following = WORD.search(rest)
    if following is None or tails.gives_reason(rest):
        return Letters(found, following is not None, listed)
    further = further_labels(found, rest, letters)
    if further is None or not (further or _begins_explanation(rest, following)):
        return None
    return Letters(found + further, True, listed)


def _begins_explanation(rest: str, following: re.Match[str]) -> bool:
    """Whether what stands behind letters, from the word `following` on, is an explanation or the option's text."""
    gap = rest[: following.start()]
    if tails.takes_back(rest) or tails.is_doubtful(gap, following[0]):
        return False
    if all(word[0].lower() in AFFIRMING for word in WORD.finditer(rest)):
        return True
    sign = tails.sign_behind_letters(gap)
    if sign in ("", ",", ";"):
        is_text = len(following[0]) > 1 and not following[0].isdigit()
        return is_text and (sign == ";" or following[0][0].isupper())
    return sign not in ("/", "|", "&", "+")


def join_letters(found: list[str], answer_format: AnswerFormat) -> str:
    """The letters in canonical form, sorted and without doubles; empty if there are more than the format allows."""
    distinct = sorted(set(found))
    return "; ".join(distinct) if len(distinct) <= answer_format.max_choices else ""


def leaderboard_letters(text: str, letters: str) -> list[str]:
    """The letters as the leaderboard would match them, so that this reading never falls below that one; else none.

    Not where one is Latin: of `A; Е` the leaderboard would drop the English article.
    """
    text = text.strip()
    if len(text) > LIMIT or is_longer(text, len(letters)):
        return []
    found = [word.upper() for word in normalize(text).split()]
    good = not _LATIN.search(text) and all(len(letter) == 1 and letter in letters for letter in found)
    return found if good and found == sorted(set(found)) else []


def letters_of_lines(lines: list[str], letters: str, *, below: bool) -> list[str]:
    """Read letters from the first line, and from the lines that go on with it; none where no answer is unmistakable.

    Args:
        lines: cleaned lines; an empty one ends a paragraph.
        letters: the task's letters.
        below: whether the first line stands below the marker's line, so that it may begin a list.
    """
    if all(word[0].lower() in LEAD_WORDS for word in WORD.finditer(lines[0])):  # «следующие варианты:»
        lines, below = _from_first(lines[1:]), True
    first = letters_of_line(lines[0], letters) if lines else None
    if first is None:
        return []
    found = list(first.found)
    near = True
    for number, line in enumerate(lines[1:], start=1):
        if not line:
            near = first.listed or below
            continue
        more = letters_of_line(line, letters)
        if more is None or not near or not _goes_on(first, found[-1], more):
            taken_back = is_taken_back(lines[number:], found, letters)
            return found if _only_follows(line, found, first, letters) and not taken_back else []
        if first.explained and any(map(tails.refutes, lines[: number + 1])):
            return []
        found += more.found
    return found


def _from_first(lines: list[str]) -> list[str]:
    """The lines from the first that is not empty."""
    return lines[next((number for number, line in enumerate(lines) if line), len(lines)) :]


def _goes_on(first: Letters, last: str, more: Letters) -> bool:
    """Whether a line goes on with the list that `first` begins: options with text, if unmarked, only in their order."""
    same_kind = (first.explained, first.listed) == (more.explained, more.listed)
    return same_kind and (more.listed or not more.explained or last < more.found[0])


def _only_follows(line: str, found: list[str], first: Letters, letters: str) -> bool:
    """Whether a line below an answer is none of its business.

    It is not where it hedges the answer, or where other letters begin it and it cannot be told from the answer: both
    are nothing but letters, or both are options with text, so that the lines may go through the wrong options too.
    """
    line = BULLET.sub("", line)
    if tails.hedges(line) and named(line, letters):
        return False
    parsed = parse_letters(line, letters)
    if parsed is None or set(parsed[0]) <= set(found):
        return True
    return not first.explained and WORD.search(parsed[1]) is not None
