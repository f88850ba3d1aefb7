"""Helpers for the tables in this folder: the answer formats, and a check for a row of a table."""

from mera_ru_tasks.data.benchmarks import ONE_OF_FOUR, ONE_OF_FOUR_WITH_UNIT, PHRASE, SEVERAL_OF_SIX, AnswerFormat
from mera_ru_tasks.scoring.extract import drop_reasoning, extract_answer
from mera_ru_tasks.scoring.score import score_flexible, score_strict

SEVERAL, ONE, UNIT = SEVERAL_OF_SIX, ONE_OF_FOUR, ONE_OF_FOUR_WITH_UNIT
FORMATS = (SEVERAL, ONE, UNIT, PHRASE)

# A row of a table: the answer format, the reference, the response, the extracted answer, and True if it is correct.
Row = tuple[AnswerFormat, str, str, str, int]


def read(response: str, answer_format: AnswerFormat) -> str:
    """Return the answer that is extracted from a response."""
    return extract_answer(response, answer_format).answer


def document(answer_format: AnswerFormat, reference: str) -> dict:
    """Return a document with the fields that scoring needs."""
    return {"outputs": reference, "answer_format": vars(answer_format), "meta": {"id": 1}}


def flexible(answer_format: AnswerFormat, reference: str, response: str) -> dict:
    """Return all scores of a response for the filter flexible-extract."""
    extraction = read(response, answer_format)
    return score_flexible(document(answer_format, reference), extraction, drop_reasoning(response))


def strict(answer_format: AnswerFormat, reference: str, response: str) -> dict:
    """Return all scores of a response for the filter strict-match."""
    return score_strict(document(answer_format, reference), response)


def check(row: Row) -> None:
    """Extract and score the response in a row."""
    answer_format, reference, response, extraction, right = row
    assert read(response, answer_format) == extraction
    assert flexible(answer_format, reference, response)["exact_match"] == right
