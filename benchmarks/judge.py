"""Measure how fast 1,000 questions are sent to a judge: concurrently, one by one, and by inspect-ai.

The judge is a local stub in a separate process that takes 50 ms for each reply, so the ideal time with 32 concurrent
questions is 1,000 × 0.05 / 32 = 1.56 s. Fixed costs (imports, the test question, opening cache and connection) are left
out. They are measured as the time of a single question without its reply. The target is 1.25 times the ideal time.
inspect-ai belongs to the extra `bench`. If it is not installed, its line is left out.
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import Measurement

QUESTIONS = 1000
OPEN = 32
SECONDS_PER_REPLY = 0.05
IDEAL = QUESTIONS * SECONDS_PER_REPLY / OPEN

_STUB = Path(__file__).resolve().parent.parent / "tests" / "support" / "judge_stub.py"


@contextlib.contextmanager
def _stub() -> Iterator[str]:
    """Start a stub judge in a separate process, and yield its address."""
    command = [sys.executable, str(_STUB), str(SECONDS_PER_REPLY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ask_with_ours(url: str, questions: int, concurrency: int) -> float:
    """Return the seconds for questions that this package asks, with `concurrency` of them in flight."""
    from mera_ru_tasks.judge.config import Settings
    from mera_ru_tasks.judge.run import judge, prepare

    answer_format = {"choices": "", "max_choices": 0, "with_phrase": False}
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
        for number in range(questions)
    ]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(url, "stub", "none", Path(folder) / "judge.sqlite", concurrency=concurrency)
        prepare(settings)
        started = time.perf_counter()
        judgements = judge(documents, settings)
        seconds = time.perf_counter() - started
    assert all(one.score is not None for one in judgements)
    return seconds


def ask_with_inspect(url: str, questions: int, connections: int) -> float:
    """Return the seconds for samples that inspect-ai's `model_graded_qa` grades, with this number of connections."""
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

    task = inspect_ai.Task(
        dataset=[Sample(input=f"Загадка номер {number}", target="огурец") for number in range(questions)],
        solver=canned(),
        scorer=model_graded_qa(model="openai-api/stub/judge", model_role=None),
    )
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        (log,) = inspect_ai.eval(
            task,
            model="mockllm/model",
            max_connections=connections,
            max_samples=2 * connections,
            display="none",
            log_dir=folder,
        )
        seconds = time.perf_counter() - started
    assert log.status == "success" and log.results.completed_samples == questions
    return seconds


def beyond_start(ask: Callable[[str, int, int], float], url: str, open_at_a_time: int) -> float:
    """Return the median of three runs, in seconds without fixed costs."""
    ask(url, 1, open_at_a_time)
    start = statistics.median(ask(url, 1, open_at_a_time) for _ in range(3)) - SECONDS_PER_REPLY
    return statistics.median(ask(url, QUESTIONS, open_at_a_time) for _ in range(3)) - start


def measurements() -> Iterator[Measurement]:
    """Yield the seconds of each way to ask, next to the ideal time."""
    ideal = f"the ideal for {OPEN} open"
    with _stub() as url:
        seconds = beyond_start(ask_with_ours, url, OPEN)
        yield Measurement(f"{QUESTIONS:,} questions, {OPEN} open", seconds, "s", ideal, IDEAL)
        if importlib.util.find_spec("inspect_ai"):
            seconds = beyond_start(ask_with_inspect, url, OPEN)
            yield Measurement(f"the same by inspect-ai, {OPEN} connections", seconds, "s", ideal, IDEAL)
        yield Measurement("the same one by one", ask_with_ours(url, QUESTIONS, 1), "s", ideal, IDEAL)
