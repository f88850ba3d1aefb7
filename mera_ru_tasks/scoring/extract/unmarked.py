"""Reading a response that has no marker: only where it is nothing but an answer, perhaps with an explanation of it."""

from __future__ import annotations

import re

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.scoring.extract import tails
from mera_ru_tasks.scoring.extract.cleaning import clean, lines_of
from mera_ru_tasks.scoring.extract.letters import parse_letters
from mera_ru_tasks.scoring.extract.options import join_letters, leaderboard_letters, letters_of_lines
from mera_ru_tasks.scoring.extract.phrases import is_bare_phrase, parse_phrase
from mera_ru_tasks.scoring.extract.text import BULLET, LIMIT
from mera_ru_tasks.scoring.extract.units import letter_and_unit
from mera_ru_tasks.scoring.normalize import WORD

# What parts a letter from its option's text, `Б. text` or `Б — Text`; before a language unit also `;` and `,`.
_LABEL = re.compile(r"[.):]|[ ]?[—–-] ?(?=\"?[А-ЯЁA-Z])")
_LABEL_OF_UNIT = re.compile(r"[.):;,]| ?[—–-] ")


def read_bare(text: str, answer_format: AnswerFormat) -> str:
    """Read a response without a marker, its reasoning dropped.

    Returns:
        The answer in canonical form, empty where the response is anything but an answer.
    """
    lines = lines_of(clean(text)) if len(text.strip()) <= LIMIT else []
    if not lines:
        return ""
    if not answer_format.choices:
        return parse_phrase(lines[0]) if len(lines) == 1 and is_bare_phrase(lines[0]) else ""
    plain = (
        ""
        if answer_format.with_phrase
        else join_letters(leaderboard_letters(text, answer_format.choices), answer_format)
    )
    if plain or not _begins_with_answer(lines, answer_format):
        return plain
    if answer_format.with_phrase:
        return letter_and_unit(lines, answer_format)
    return join_letters(letters_of_lines(lines, answer_format.choices, below=False), answer_format)


def _begins_with_answer(lines: list[str], answer_format: AnswerFormat) -> bool:
    """Whether the first line is letters alone, or one letter in the way of a label and text, and a sentence is not."""
    line = BULLET.sub("", lines[0])
    first = WORD.search(line)
    parsed = parse_letters(line, answer_format.choices)
    if parsed is None or first is None or len(first[0]) > 1:
        return False
    found, rest = parsed
    below = lines[1] if len(lines) > 1 else ""
    if not WORD.search(rest):
        # Prose that a line end breaks behind «В» goes on in lower case.
        return not (found[-1] in ("А", "В") and below[:1].islower())
    if len(found) > 1:
        return ";" in line[: -len(rest)]  # no sentence begins like «А; Е»
    label = (_LABEL_OF_UNIT if answer_format.with_phrase else _LABEL).match(rest)
    if label is None or (label[0] == "," and found == ["А"]):  # «А, понятно»
        return False
    is_label = first[0].isupper() or label[0] == ")"
    return is_label and (not below or label[0] == ";" or tails.gives_reason(below))
