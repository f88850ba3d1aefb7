"""Step 5 of reading a response, for options: letters over several lines, in canonical form."""

from __future__ import annotations

from mera_ru_tasks import strict
from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.reading import tails
from mera_ru_tasks.reading.letters import LEAD_WORDS, Letters, letters_of_line, named, parse_letters
from mera_ru_tasks.reading.text import BULLET, LIMIT, WORD


def join_letters(found: list[str], answer_format: AnswerFormat) -> str:
    """The letters in canonical form, sorted and without doubles; empty if there are more than the format allows."""
    distinct = sorted(set(found))
    return "; ".join(distinct) if len(distinct) <= answer_format.most else ""


def leaderboard_letters(text: str, letters: str) -> list[str]:
    """The letters as the leaderboard would match them, so that this reading never falls below that one; else none."""
    text = text.strip()
    found = [word.upper() for word in strict.normalise(text).split()] if len(text) <= LIMIT else []
    good = all(len(letter) == 1 and letter in letters for letter in found)
    return found if good and found == sorted(set(found)) else []


def letters_of_lines(lines: list[str], letters: str, *, below: bool) -> list[str]:
    """Read letters from the first line, and from the lines that go on with it; none where no answer is unmistakable.

    Args:
        lines: cleaned lines; an empty one ends a paragraph.
        letters: the task's letters.
        below: whether the first line stands below the marker's line, so that it may begin a list.
    """
    if all(word.lower() in LEAD_WORDS for word in WORD.findall(lines[0])):  # «следующие варианты:»
        lines, below = lines_from_first(lines[1:]), True
    first = _entry(lines[0], letters) if lines else None
    if first is None:
        return []
    found = list(first.found)
    listed = BULLET.match(lines[0]) is not None
    adjacent = True
    for number, line in enumerate(lines[1:], start=1):
        if not line:
            adjacent = listed
            continue
        entry = _entry(line, letters)
        same_kind = entry is not None and entry.explained == first.explained and bool(BULLET.match(line)) == listed
        in_order = listed or below or not first.explained or (entry is not None and found[-1] < entry.found[0])
        if entry is None or not (same_kind and in_order and adjacent):
            return found if _only_follows(line, found, first, letters) else []
        if first.explained and any(map(tails.refutes, lines[: number + 1])):
            return []
        found += entry.found
    return found


def lines_from_first(lines: list[str]) -> list[str]:
    """The lines from the first that is not empty."""
    return lines[next((number for number, line in enumerate(lines) if line), len(lines)) :]


def _entry(line: str, letters: str) -> Letters | None:
    return letters_of_line(BULLET.sub("", line), letters)


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
