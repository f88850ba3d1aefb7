"""Two `mera-ru judge` processes on one log ask each question once, and a killed process blocks no other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.judge_stub import StubJudge
from tests.support.scripted import run

pytestmark = pytest.mark.slow

START = "import sys; from mera_ru_tasks.cli import main; sys.argv[0] = 'mera-ru'; main()"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("judged") / "results"
    run(folder, ["riddles_sample"], lambda doc, prompt: f"Ответ: {doc['meta']['id']}", limit=20)
    return folder


@pytest.fixture
def start(results, tmp_path):
    """Start `mera-ru judge` on one log with one cache."""
    shutil.copytree(results, tmp_path / "results")

    def started(stub: StubJudge, code: str = START, *arguments: object) -> subprocess.Popen[str]:
        variables = {
            "LM_EVAL_JUDGE_API_BASE": stub.url, "LM_EVAL_JUDGE_MODEL": "stub", "LM_EVAL_JUDGE_CONCURRENCY": "4",
            "LM_EVAL_JUDGE_CACHE": str(tmp_path / "cache" / "judge.sqlite"),
        }  # fmt: skip
        return subprocess.Popen(
            [sys.executable, "-c", code, *map(str, arguments), "judge", str(tmp_path / "results")],
            env={**os.environ, **variables}, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    return started


def scores(folder: Path) -> dict[int, object]:
    (file,) = folder.rglob("judged_stub_*.jsonl")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    return {row["doc_id"]: row["scores"] for row in rows}


def wait_for(condition) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_two_at_once_ask_each_question_once(start, tmp_path):
    with StubJudge() as stub:
        free = False
        stub.holds = lambda message, number: not free
        first = start(stub)
        wait_for(lambda: stub.questions)
        second = start(stub)
        told = ""
        while "Another process is judging" not in told:
            line = second.stderr.readline()
            assert line, told
            told += line
        free = True
        assert [first.wait(), second.wait()] == [0, 0]
        assert len(stub.questions) == len(set(stub.questions)) == 20
    assert len(scores(tmp_path)) == 20
    assert [file.name for file in (tmp_path / "results").rglob("*before*")] == []


def test_a_killed_judge_blocks_no_other(start, tmp_path):
    with StubJudge() as stub:
        stub.holds = lambda message, number: number >= 8
        killed = start(stub)
        wait_for(lambda: len(stub.questions) >= 10)
        killed.kill()
        killed.wait()
        stub.holds = None
        assert list((tmp_path / "results").rglob("judged*")) == []
        again = start(stub)
        output = again.communicate()
        assert again.returncode == 0 and "Another process" not in output[1], output
        # Only the open questions of the killed process were asked again.
        assert len(stub.questions) <= 20 + 4 and len(set(stub.questions)) == 20
    assert len(scores(tmp_path)) == 20
