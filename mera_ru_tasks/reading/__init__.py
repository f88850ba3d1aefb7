"""Reading a response as the model meant it, the pipeline `flexible-extract`.

Models wrap answers in reasoning, markup, quotes and explanations. The reading recovers an answer that is unmistakably
there and never guesses: a letter picked out of a sentence is a false credit, which is worse than a miss. Its steps can
be used alone: `drop_reasoning` → `after_marker` → `clean` → `parse_letters` or `parse_phrase`; `read` joins them. All
it knows of a task is the `AnswerFormat`.

Responses are hostile text, so every step is linear in their length: whole responses are only searched for fixed
strings, and patterns run on a piece of at most `LIMIT` characters.
"""

from __future__ import annotations

import re

from mera_ru_tasks import strict
from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.reading.letters import PREFIX_WORDS, join_letters, labelled, letters_of_line, parse_letters
from mera_ru_tasks.reading.marker import after_marker
from mera_ru_tasks.reading.phrases import goes_on, parse_phrase
from mera_ru_tasks.reading.reasoning import drop_reasoning
from mera_ru_tasks.reading.text import BULLET, LIMIT, WORD, clean, lines_of

__all__ = ["after_marker", "clean", "drop_reasoning", "parse_letters", "parse_phrase", "read"]


def read(response: str, answer_format: AnswerFormat) -> str:
    """Read a response as the answer it means.

    Returns:
        The answer in canonical form (`А; Е`, `Б`, `Б; лужа`, `лапша`), or an empty string where none is unmistakable.
    """
    visible = drop_reasoning(response)
    marked = after_marker(visible)
    return _read_bare(visible, answer_format) if marked is None else _read_marked(marked, answer_format)


def _read_marked(text: str, answer_format: AnswerFormat) -> str:
    """Read what stands behind a marker."""
    lines = lines_of(clean(text))
    if not lines:
        return ""
    if not answer_format.letters:
        return _phrase_of(lines)
    if answer_format.unit:
        return _letter_and_unit(lines, answer_format)
    below = not WORD.search(text[:LIMIT].split("\n", 1)[0])
    return join_letters(
        _leaderboard_letters(text, answer_format) or _letters_of(lines, answer_format, below), answer_format
    )


# A response without a marker is read only where it is nothing but an answer: one line, of so many words for a phrase.
_BARE_WORDS = 4
_SENTENCE = re.compile(r"[,:!?…]|\.\s|\s[—–-]\s")


def _read_bare(text: str, answer_format: AnswerFormat) -> str:
    """Read a response that has no marker."""
    if len(text.strip()) > LIMIT:
        return ""
    cleaned = clean(text)
    lines = [line for line in cleaned.split("\n") if WORD.search(line)]
    if not lines:
        return ""
    if not answer_format.letters:
        short = len(lines) == 1 and len(WORD.findall(lines[0])) <= _BARE_WORDS and not _SENTENCE.search(lines[0])
        return parse_phrase(lines[0]) if short else ""
    plain = "" if answer_format.unit else join_letters(_leaderboard_letters(text, answer_format), answer_format)
    if plain or not _is_bare_answer(lines, cleaned, answer_format):
        return plain
    if answer_format.unit:
        return _letter_and_unit(lines[:1], answer_format)
    return join_letters(_letters_of(lines[:1], answer_format, below=False), answer_format)


def _is_bare_answer(lines: list[str], text: str, answer_format: AnswerFormat) -> bool:
    """Whether a response that has no marker is an answer in letters: `Б`, `Б. text`, or a letter and a blank line."""
    line = BULLET.sub("", lines[0])
    parsed = parse_letters(line, answer_format.letters)
    first = WORD.search(line)
    if parsed is None or first is None or not (first[0].isupper() or line[first.end() :].startswith(")")):
        return False
    found, rest = parsed
    if first[0].lower() in PREFIX_WORDS:
        return False
    if len(lines) > 1:
        return not WORD.search(rest) and "\n\n" in text and len(lines_of(text)) == 1
    return len(found) == 1 or not WORD.search(rest)


def _leaderboard_letters(text: str, answer_format: AnswerFormat) -> list[str] | None:
    """The letters as the leaderboard would match them, so that this reading never falls below that one."""
    if len(text.strip()) > LIMIT:
        return None
    found = [word.upper() for word in strict.normalise(text).split()]
    good = all(len(letter) == 1 and letter in answer_format.letters for letter in found)
    return found if good and found and found == sorted(set(found)) else None


def _letters_of(lines: list[str], answer_format: AnswerFormat, below: bool) -> list[str] | None:
    """Read letters from the first line, or from a list that begins `below` the marker's line."""
    found: list[str] | None = None
    for line in lines:
        line = BULLET.sub("", line)
        if found is None and all(word.lower() in PREFIX_WORDS for word in WORD.findall(line)):
            below = True  # «следующие варианты:»
            continue
        more = letters_of_line(line, answer_format.letters)
        if found is None:
            found = more
            if more is None or len(more) > 1 or not below:
                return found
        elif more is None or len(more) > 1:
            break
        else:
            found += more
    return found


def _letter_and_unit(lines: list[str], answer_format: AnswerFormat) -> str:
    """Read `letter; unit` from a line; the letter alone where there is no unit, not even on the next line."""
    parsed = parse_letters(BULLET.sub("", lines[0]), answer_format.letters)
    if parsed is None or len(set(parsed[0])) > answer_format.most:
        return ""
    found, rest = parsed
    following = WORD.search(rest)
    if following is None:
        below = lines[1] if len(lines) > 1 and len(WORD.findall(lines[1])) <= _BARE_WORDS else ""
        unit = parse_phrase(below)
    else:
        gap = rest[: following.start()].strip()
        if (
            "?" in gap
            or (not gap and found[0] in "АВ")
            or labelled(found, rest, answer_format.letters, explained=True) != found
        ):
            return ""
        unit = parse_phrase(rest)
    return "; ".join(filter(None, (found[0], unit)))


def _phrase_of(lines: list[str]) -> str:
    """Read a phrase from the first line, and from those that go on with it: a list's, or «или …»."""
    phrases = [parse_phrase(lines[0])]
    listed = BULLET.match(lines[0])
    for line in lines[1:]:
        if not (goes_on(line) or (listed and BULLET.match(line))):
            break
        phrases.append(parse_phrase(line))
    return "; ".join(phrases) if all(phrases) else ""
