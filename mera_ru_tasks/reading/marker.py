"""Step 2 of reading a response: where its answer begins."""

from __future__ import annotations

import re

from mera_ru_tasks import strict
from mera_ru_tasks.reading.text import WORD, lower

# Behind the word: closing markup, then what separates it from the answer. A colon always makes a marker; a dash, an
# equals sign or a line end only where the word stands at the head of a line or sentence, see `_heads_sentence`.
_AFTER_WORD = re.compile(
    r"ответы?(?:</?\w{1,10}>|[ \t\u00a0*_~`\"'»”\])}]){0,12}?(?:(?P<colon>[:：])|(?P<other>[—–−=]|(?<=\s)-|\n|$))",
    re.IGNORECASE,
)
_LEAD_WORDS = frozenset(
    """
    итоговый окончательный финальный правильный верный мой наш краткий итак значит следовательно таким образом
    вот и поэтому
    """.split()
)
# So many occurrences of the word «ответ» are tried as markers, from the end.
_TRIES = 200


def after_marker(text: str) -> str | None:
    """The text behind the last marker, in any case and markup; None where there is no marker."""
    lowered = lower(text)
    position = len(lowered)
    for _ in range(_TRIES):
        position = lowered.rfind("ответ", 0, position)
        if position < 0:
            return None
        end = _marker_end(text, position)
        if end is not None:
            return text[end:]
    _, found, after = text.rpartition(strict.MARKER)
    return after if found else None


def _marker_end(text: str, position: int) -> int | None:
    """Where the marker ends that begins at `position`; None if the word there is no marker."""
    if text.startswith(strict.MARKER, position):
        return position + len(strict.MARKER)
    match = _AFTER_WORD.match(text, position)
    if match is None or (position and text[position - 1].isalnum()):
        return None
    return match.end() if match["colon"] or _heads_sentence(text[max(0, position - 60) : position]) else None


def _heads_sentence(before: str) -> bool:
    """Whether only words like «Итоговый» stand between the last line or sentence end and the marker's word."""
    lead = re.split(r"[\n.!?;:]", before)[-1]
    return all(word in _LEAD_WORDS for word in WORD.findall(lead.lower()))
