"""How fast 1,000 questions to a judge are asked: at once, one by one, and by inspect-ai.

The judge is a stub on loopback, in a process of its own, that takes 50 ms for each reply, so the ideal at 32 open
questions is 1,000 × 0.05 / 32 = 1.56 s. What is paid once (imports, the trial question) is paid before the clock
starts, for inspect-ai by an evaluation of one sample. The goal is 1.25 times the ideal. inspect-ai is in the extra
`bench`; without it its line is left out.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import Measurement

QUESTIONS = 1000
OPEN = 32
SECONDS_PER_REPLY = 0.05
IDEAL = QUESTIONS * SECONDS_PER_REPLY / OPEN

_STUB = Path(__file__).resolve().parent.parent / "tests" / "judge" / "judge_stub.py"


@contextlib.contextmanager
def _stub() -> Iterator[str]:
    """A stub judge in its own process; yields its address."""
    command = [sys.executable, str(_STUB), str(SECONDS_PER_REPLY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ask_with_ours(url: str, concurrency: int) -> float:
    """Seconds for all questions with this package, `concurrency` of them open at a time."""
    from mera_ru_tasks.judge import engine
    from mera_ru_tasks.judge.config import Settings

    answer_format = {"letters": "", "most": 0, "unit": False}
    documents = [
        (
            {
                "instruction": "Отгадайте загадку и запишите ответ после слова «Ответ:».\n\n{question}",
                "inputs": {"question": f"Загадка номер {number}: без окон, без дверей, полна горница людей."},
                "outputs": "огурец; огурцы",
                "meta": {"id": number},
                "answer_format": answer_format,
            },
            f"Ответ: тыква {number}",
        )
        for number in range(QUESTIONS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(url, "stub", "none", Path(folder) / "judge.sqlite", concurrency=concurrency)
        engine.prepare(settings)
        started = time.perf_counter()
        verdicts = engine.judge(documents, settings)
        seconds = time.perf_counter() - started
    assert all(verdict.score is not None for verdict in verdicts)
    return seconds


def ask_with_inspect(url: str) -> float:
    """Seconds for as many samples graded by inspect-ai's `model_graded_qa` at the same number of connections."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import solver

    os.environ |= {"STUB_API_KEY": "none", "STUB_BASE_URL": url}

    @solver
    def canned() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            state.output = ModelOutput.from_content("canned", "Ответ: тыква")
            return state

        return solve

    def grade(samples: int, folder: str) -> float:
        task = inspect_ai.Task(
            dataset=[Sample(input=f"Загадка номер {number}", target="огурец") for number in range(samples)],
            solver=canned(),
            scorer=model_graded_qa(model="openai-api/stub/judge", model_role=None),
        )
        started = time.perf_counter()
        (log,) = inspect_ai.eval(
            task, model="mockllm/model", max_connections=OPEN, max_samples=2 * OPEN, display="none", log_dir=folder
        )
        seconds = time.perf_counter() - started
        assert log.status == "success" and log.results.completed_samples == samples
        return seconds

    with tempfile.TemporaryDirectory() as folder:
        grade(1, folder)
        return grade(QUESTIONS, folder)


def measurements() -> Iterator[Measurement]:
    """Each way of asking, in seconds, beside the ideal."""
    ideal = f"the ideal for {OPEN} open"
    with _stub() as url:
        seconds = statistics.median(ask_with_ours(url, OPEN) for _ in range(3))
        yield Measurement(f"{QUESTIONS:,} questions, {OPEN} open", seconds, "s", ideal, IDEAL)
        if importlib.util.find_spec("inspect_ai"):
            yield Measurement(f"the same by inspect-ai, {OPEN} connections", ask_with_inspect(url), "s", ideal, IDEAL)
        yield Measurement("the same one by one", ask_with_ours(url, 1), "s", ideal, IDEAL)
