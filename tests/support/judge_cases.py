"""Documents to judge, and settings for a stub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mera_ru_tasks.judge.config import Settings
from mera_ru_tasks.judge.run import Judgement, check
from tests.support.judge_stub import StubJudge

KEY = "sentinel-key-5f1e"

Document = tuple[dict[str, Any], str]


def riddle(number: int, response: str, outputs: str = "лук; луковица") -> Document:
    """A riddle and a response to it."""
    doc = {
        "instruction": "Отгадай: {question}",
        "inputs": {"question": f"загадка {number}"},
        "outputs": outputs,
        "meta": {"id": number},
        "answer_format": {"choices": "", "max_choices": 0, "with_phrase": False},
    }
    return doc, response


def wrong(number: int) -> Document:
    """Return a riddle and a response that needs a question to the judge."""
    return riddle(number, f"Ответ: репа {number}")


def many(count: int) -> Sequence[Document]:
    """Return this number of documents that all need a question."""
    return [wrong(number) for number in range(count)]


def settings_for(stub: StubJudge, folder: Path, **changes: Any) -> Settings:
    """Return settings for a stub with the cache in `folder`, and forget that the server was already checked."""
    check.cache_clear()
    defaults = {"cache": folder / "judge.sqlite", "timeout": 5.0}
    return Settings(api_base=stub.url, model="stub-judge", key=KEY, **(defaults | changes))


def scores(verdicts: Sequence[Judgement]) -> list[float | None]:
    """Return the scores of the verdicts."""
    return [verdict.score for verdict in verdicts]
