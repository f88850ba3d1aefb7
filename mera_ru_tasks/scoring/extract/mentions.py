"""Which option letters the text behind an answer mentions: further answers, others refuted, or a sentence's words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mera_ru_tasks.scoring.extract import tails
from mera_ru_tasks.scoring.extract.letters import JUDGING, as_letter
from mera_ru_tasks.scoring.normalize import WORD

# A further letter with its option's text: «…; Д. text», «…), Д) text», «…", Д "text"».
_LABEL = re.compile(r"(?P<before>[;,]|[)\"](?= ))[ ]?(?:и )?\"?(?P<letter>[^\W\d_])(?P<sign>\"? ?[.):(—–-]| \")")
_CAPITAL = re.compile(r"(?<![^\W_])[А-ЯA-ZΑ-Ω](?![^\W_]|[\u0300-\u036f]|-\w)")
_BEFORE_SENTENCE = '.!?:;"()—–-'
# Letters that are named only to be refuted: «Б, В и Г не подходят», «не подходят: Б, В», «…, а не Б», «(не Б)».
_LETTERS = r"(?<![^\W_])[А-ЯA-Z](?:(?:[,;]? | и |, и )[А-ЯA-Z]){0,6}(?![^\W_])"
_REFUTED = re.compile(
    rf",? ?\b(?:а )?не {_LETTERS}"
    rf"|{_LETTERS}\)? (?:тут |здесь |же )?{tails.REFUTATION}"
    rf"|{tails.REFUTATION}(?: варианты?)?:? {_LETTERS}"
)


def without_refuted(found: list[str], rest: str, letters: str) -> str | None:
    """What stands behind the letters `found` without others that it only refutes; None if it refutes one of `found`."""
    if not _CAPITAL.search(rest):
        return rest
    refuted = {as_letter(capital, letters) for span in _REFUTED.findall(rest) for capital in _CAPITAL.findall(span)}
    return None if refuted & set(found) else _REFUTED.sub(" ", rest)


def is_taken_back(below: Sequence[str], found: list[str], letters: str) -> bool:
    """Whether lines below an answer say that it is wrong, or doubt it or put another letter in its place."""
    filled = [line for line in below if line]
    if filled and tails.denies(filled[0]):
        return True
    for line in filled:
        if tails.corrects(line) or tails.hedges(line) or tails.adds(line):
            rest = without_refuted(found, line, letters)
            if rest is None or named(rest, letters) - set(found):
                return True
    return False


def further_labels(found: list[str], rest: str, letters: str) -> list[str] | None:
    """The letters of further options that a line gives in the way of the first, `Б. text; Д. text`.

    Returns:
        Letters of the task; empty where there are none; None if the line names options in any other way, for then it
        may be a sentence that weighs them, or if a label is outside the task's range.
    """
    further = []
    for label in _LABEL.finditer(rest):
        style = _style(rest)
        is_initial = label["sign"] == "." and label["before"] != ";"
        is_capital = label["letter"].isupper() or style == ")"
        if _style(label["sign"]) == style and is_capital and not is_initial:
            further.append(as_letter(label["letter"], letters) or "")
    known = {*found, *further}
    return None if "" in known or named(rest, letters) - known else further


def _style(text: str) -> str:
    """The sign that parts a letter from its text; all dashes are one."""
    sign = text.strip().lstrip('"' if len(text.strip()) > 1 else "").strip()[:1]
    return "-" if sign in ("–", "—") else sign


def named(text: str, letters: str) -> set[str]:
    """The option letters that a text names: capitals by themselves, but not «А» and «В» as words of a sentence."""
    found = set()
    for match in _CAPITAL.finditer(text):
        letter = as_letter(match[0], letters)
        if letter and not _begins_sentence(text, match):
            found.add(letter)
    return found


def _begins_sentence(text: str, capital: re.Match[str]) -> bool:
    """Whether a capital is «А» or «В» as the first word of a sentence, also with a comma: «А, понятно»."""
    before = text[max(0, capital.start() - 2) : capital.start()].rstrip()[-1:]
    following = WORD.search(text, capital.end())
    if capital[0] not in "АВAB" or (before and before not in _BEFORE_SENTENCE) or following is None:
        return False
    gap = text[capital.end() : following.start()]
    return gap in (" ", ", ", "! ") and following[0].lower() not in JUDGING and len(following[0]) > 1
