"""How fast 1,000 questions to a judge are asked: at once, one by one, and by inspect-ai.

The judge is a stub on loopback, in a process of its own, that takes 50 ms for each reply, so the ideal at 32 open
questions is 1,000 × 0.05 / 32 = 1.56 s. What is paid once, however many questions there are (imports, the test
question, opening cache and connection), is left out: it is what one question takes beyond its reply. The goal is 1.25
times the ideal. inspect-ai is in the extra `bench`; without it its line is left out.
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
    """A stub judge in its own process; yields its address."""
    command = [sys.executable, str(_STUB), str(SECONDS_PER_REPLY)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def ask_with_ours(url: str, questions: int, concurrency: int) -> float:
    """Seconds for questions asked with this package, `concurrency` of them open at a time."""
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
    """Seconds for samples graded by inspect-ai's `model_graded_qa`, `connections` of them open at a time."""
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
    """Seconds that all questions take beyond what is paid once; the median of three."""
    ask(url, 1, open_at_a_time)
    start = statistics.median(ask(url, 1, open_at_a_time) for _ in range(3)) - SECONDS_PER_REPLY
    return statistics.median(ask(url, QUESTIONS, open_at_a_time) for _ in range(3)) - start


def measurements() -> Iterator[Measurement]:
    """Each way of asking, in seconds, beside the ideal."""
    ideal = f"the ideal for {OPEN} open"
    with _stub() as url:
        seconds = beyond_start(ask_with_ours, url, OPEN)
        yield Measurement(f"{QUESTIONS:,} questions, {OPEN} open", seconds, "s", ideal, IDEAL)
        if importlib.util.find_spec("inspect_ai"):
            seconds = beyond_start(ask_with_inspect, url, OPEN)
            yield Measurement(f"the same by inspect-ai, {OPEN} connections", seconds, "s", ideal, IDEAL)
        yield Measurement("the same one by one", ask_with_ours(url, QUESTIONS, 1), "s", ideal, IDEAL)
