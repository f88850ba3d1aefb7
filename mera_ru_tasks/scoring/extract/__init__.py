"""Reading a response as the model meant it, the pipeline `flexible-extract`.

Models wrap answers in reasoning, markup, quotes and explanations. The reading recovers an answer that is unmistakably
there and never guesses: a letter picked out of a sentence is a false credit, which is worse than a miss. Its steps can
be used alone: `drop_reasoning` → `after_marker` → `clean` → `parse_letters` or `parse_phrase`; `read` joins them. All
it knows of a task is the `AnswerFormat`.

Responses are hostile text, so every step is linear in their length: whole responses are only searched for fixed
strings, and patterns run on a piece of at most `text.LIMIT` characters.
"""

from __future__ import annotations

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.scoring.extract.cleaning import clean, lines_of
from mera_ru_tasks.scoring.extract.letters import parse_letters
from mera_ru_tasks.scoring.extract.marker import after_marker
from mera_ru_tasks.scoring.extract.options import join_letters, leaderboard_letters, letters_of_lines
from mera_ru_tasks.scoring.extract.phrases import parse_phrase, parse_phrases
from mera_ru_tasks.scoring.extract.reasoning import drop_reasoning
from mera_ru_tasks.scoring.extract.units import letter_and_unit
from mera_ru_tasks.scoring.extract.unmarked import read_bare
from mera_ru_tasks.scoring.normalize import without_invisible

__all__ = ["after_marker", "clean", "drop_reasoning", "parse_letters", "parse_phrase", "read"]


def read(response: str, answer_format: AnswerFormat) -> str:
    """Read a response as the answer it means.

    Returns:
        The answer in canonical form (`А; Е`, `Б`, `Б; лужа`, `лапша`), or an empty string where none is unmistakable.
    """
    visible = drop_reasoning(without_invisible(response))
    marked = after_marker(visible)
    return read_bare(visible, answer_format) if marked is None else _read_marked(marked, answer_format)


def _read_marked(text: str, answer_format: AnswerFormat) -> str:
    """Read what stands behind a marker."""
    letters = answer_format.choices
    if letters and not answer_format.with_phrase and (found := leaderboard_letters(text, letters)):
        return join_letters(found, answer_format)
    cleaned = clean(text)
    lines = lines_of(cleaned)
    if not lines:
        return ""
    if not letters:
        return parse_phrases(lines)
    if answer_format.with_phrase:
        return letter_and_unit(lines, answer_format)
    return join_letters(letters_of_lines(lines, letters, below=cleaned.startswith("\n")), answer_format)
