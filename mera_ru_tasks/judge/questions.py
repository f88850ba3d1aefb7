"""Which documents need a question to the judge, and what it holds. Fewest questions: at most one a document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness import prompt
from mera_ru_tasks.judge.prompt import Question, neutral
from mera_ru_tasks.scoring import extract, score

# The judge is shown so many characters of an answer at the most.
ANSWER_LIMIT = 2000


@dataclass(frozen=True)
class Unasked:
    """Why a document needs no question, and the score that is known without one (None where there can be none)."""

    why: str
    score: float | None


NO_REFERENCE = Unasked("no reference", None)
EXACT = Unasked("exact match", 1.0)
EMPTY = Unasked("empty answer", 0.0)


def question_for(doc: Mapping[str, Any], response: str, *, skip_exact: bool = True) -> Question | Unasked:
    """Decide whether the judge must be asked about a response.

    Args:
        doc: a loaded document (see `data`).
        response: what the model wrote.
        skip_exact: whether a strict exact match counts as 1 without a question.
    """
    if not has_reference(doc):
        return NO_REFERENCE
    if skip_exact and score.score_strict(doc, response)["exact_match"]:
        return EXACT
    answer = shown_answer(response)
    if not neutral(answer):
        return EMPTY
    reference = doc["outputs"].strip()
    is_phrase = not AnswerFormat.of(doc).choices
    entries = [entry.strip() for entry in reference.split(";")] if is_phrase else [reference]
    return Question(prompt.render(doc), tuple(entry for entry in entries if entry), answer)


def shown_answer(response: str) -> str:
    """What the judge sees of a response: the text behind its last marker, else all of it but the reasoning.

    At most `ANSWER_LIMIT` characters: the first of them behind a marker, where the answer comes first; the last of them
    in a text without one, which ends with what it comes to. Empty where nothing is left.
    """
    visible = extract.drop_reasoning(response)
    marked = (extract.after_marker(visible) or "").strip()
    return marked[:ANSWER_LIMIT] if marked else visible.strip()[-ANSWER_LIMIT:]
