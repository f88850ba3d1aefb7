"""Step 4 of reading a response, for options: the letters that a line answers with."""

from __future__ import annotations

import re

from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.reading.text import WORD

_LOOK_ALIKES = str.maketrans("ABEae", "АВЕае")
PREFIX_WORDS = frozenset(
    """
    это только вариант варианты варианта вариантом опция опции буква буквы букву буквой буквами под пункт
    пункты правильный правильные верный верные подходящий подходящие следующий следующие подходит подходят
    """.split()
)
_REASON_WORDS = frozenset(["потому", "поскольку", "так", "ведь", "т", "ибо"])
# Single letters that are words of a sentence rather than options outside the range.
_ONE_LETTER_WORDS = frozenset("ИОУКСЯ")


def parse_letters(line: str, letters: str) -> tuple[list[str], str] | None:
    """Read option letters at the head of a line.

    Args:
        line: cleaned text.
        letters: the task's letters.

    Returns:
        The letters as found, in the task's alphabet, and the rest of the line behind them; None where the line does not
        begin with letters, or with one outside the task's range, or with a range such as `А-Е`.
    """
    words = list(WORD.finditer(line))
    at = 0
    while at < len(words) and words[at][0].lower() in PREFIX_WORDS:
        at += 1
    found: list[str] = []
    end = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else None
        letter = _as_letter(word[0], letters)
        if found and word[0] in ("и", "И", "and") and following and _as_letter(following[0], letters):
            at += 1
            continue
        if letter is None or (letter in ("А", "В") and _is_function_word(line, word, following, letters)):
            break
        if not letter or (found and re.fullmatch("[-–—−]", line[end : word.start()])):
            return None
        found.append(letter)
        end = word.end()
        at += 1
    return (found, line[end:]) if found else None


def _as_letter(word: str, letters: str) -> str | None:
    """The task's letter that `word` is; "" for a letter outside the range, None for a word."""
    letter = word.translate(_LOOK_ALIKES).upper()
    if len(word) != 1 or letter in _ONE_LETTER_WORDS or not letter.isalpha():
        return None
    return letter if letter in letters else ""


def _is_function_word(line: str, word: re.Match[str], following: re.Match[str] | None, letters: str) -> bool:
    """Whether «а» or «в» is a conjunction or preposition: a word follows, with nothing but a space between."""
    if following is None or line[word.end() : following.start()].strip():
        return False
    return following[0] not in ("и", "И") and not _as_letter(following[0], letters)


_LABEL = re.compile(r"[;,]\s*([^\W\d_])\s*[.):(—–-]")


def letters_of_line(line: str, letters: str) -> list[str] | None:
    """The letters that a whole line answers with, where the rest of it only explains them; None where it is not so."""
    parsed = parse_letters(line, letters)
    if parsed is None:
        return None
    found, rest = parsed
    following = WORD.search(rest)
    if following is None:
        return found
    gap = rest[: following.start()].strip()
    first_word = following[0].lower()
    if not gap.strip("*_`~\"'»”") or "?" in gap or gap[0] in "/&+" or rest[0] in "-–—" or first_word in ("или", "либо"):
        return None
    if gap[0] == ",":
        return found if first_word in _REASON_WORDS else labelled(found, rest, letters)
    return labelled(found, rest, letters, explained=True)


def labelled(found: list[str], rest: str, letters: str, *, explained: bool = False) -> list[str] | None:
    """Add the letters of further `Б. text; Д. text` labels; None if the text names options in another way."""
    further = [_as_letter(label[1], letters) for label in _LABEL.finditer(rest)]
    known = found + [letter for letter in further if letter]
    if "" in further or (len(known) == len(found) and not explained):
        return None
    for match in re.finditer(r"(?<![^\W_])[А-ЯA-Z](?![^\W_])", rest):
        letter = _as_letter(match[0], letters)
        behind = rest[match.end() : match.end() + 2]
        function_word = match[0] in "АВ" and len(behind) == 2 and behind[0] == " " and behind[1].isalpha()
        if letter and letter not in known and not function_word:
            return None
    return known


def join_letters(found: list[str] | None, answer_format: AnswerFormat) -> str:
    """The letters in canonical form, sorted and without doubles; empty if there are more than the format allows."""
    distinct = sorted(set(found or []))
    return "; ".join(distinct) if len(distinct) <= answer_format.most else ""
