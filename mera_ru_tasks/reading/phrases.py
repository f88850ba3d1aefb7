"""Step 4 of reading a response, for riddles and language units: the word or phrase that a line answers with."""

from __future__ import annotations

import re

from mera_ru_tasks.reading.text import BULLET, WORD

_MARKUP = re.compile(r"[*_`~#$|{}<>\\]")
_BRACKETED = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]")
_HEDGE = re.compile(r"\s*(?:или|либо|возможно|может быть)\b", re.IGNORECASE)
_EXPLANATION = re.compile(
    r"[.!…](?=\s|$)|\?|:\s|\s[—–-]\s|,?\s(?:потому что|так как|поскольку|т\. ?к\.)|,\s(?:ведь|ибо)\s"
)
_EDGES = " \t.,;:!?…«»„“”\"'‘’()[]—–-‑−/+=&"
_THIS_IS = re.compile(r"это(?:\s+[—–-])?\s+(?=\w)")


def parse_phrase(line: str) -> str:
    """Read a word or phrase: lower case, without markup, quotes, leading «это», brackets and explanation.

    Alternatives («лапша или макароны») stay in it: whether they are all accepted is for the score to say. Empty where
    nothing is left, or where the line goes on after a question mark.
    """
    text = _BRACKETED.sub(_without_aside, _MARKUP.sub("", BULLET.sub("", line)))
    text = (text if WORD.search(text) else _MARKUP.sub("", line)).strip(_EDGES)
    cut = _EXPLANATION.search(text)
    if cut is not None:
        behind = text[cut.end() :]
        if cut[0] == "?" and WORD.search(behind):
            return ""
        text = text[: cut.start()] + (f", {behind}" if _HEDGE.match(behind) else "")
    words = " ".join(text.lower().strip(_EDGES).split())
    return re.sub(r"\s*;[\s;]*", "; ", _THIS_IS.sub("", words, count=1) if words.startswith("это") else words).strip(
        _EDGES
    )


def goes_on(line: str) -> bool:
    """Whether a line goes on with another answer: «или …»."""
    return _HEDGE.match(line) is not None


def _without_aside(match: re.Match[str]) -> str:
    """Drop what stands in brackets, unless it is all there is or another answer."""
    aside = match[1] if match[1] is not None else match[2]
    is_all = not WORD.search(match.string[: match.start()]) and not WORD.search(match.string[match.end() :])
    return aside if is_all else f", {aside}" if _HEDGE.match(aside) else " "
