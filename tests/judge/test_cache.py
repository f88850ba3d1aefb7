"""Verdicts survive the end of the process, and a damaged file never gives a wrong verdict."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.cache import VerdictCache, open_cache
from mera_ru_tasks.judge.config import question_key
from mera_ru_tasks.judge.questions import load_prompt, question_for
from mera_ru_tasks.judge.run import judge, prepare
from tests.support.judge_cases import KEY, many, settings_for
from tests.support.judge_stub import StubJudge, hashed_score

COUNT = 24
CONCURRENCY = 3


def start(stub: StubJudge, cache: Path) -> subprocess.Popen[str]:
    environment = os.environ | {
        "LM_EVAL_JUDGE_API_BASE": stub.url,
        "LM_EVAL_JUDGE_MODEL": "stub-judge",
        "LM_EVAL_JUDGE_API_KEY": KEY,
        "LM_EVAL_JUDGE_CACHE": str(cache),
        "LM_EVAL_JUDGE_CONCURRENCY": str(CONCURRENCY),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-m", "tests.support.judge_process", str(COUNT)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def scores_of(process: subprocess.Popen[str]) -> list[float]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return json.loads(out)


def cached_messages(settings) -> set[str]:
    """Return the questions whose verdicts are in the cache file."""
    prompt = load_prompt(settings)
    messages = [prompt.render(question_for(*document)) for document in many(COUNT)]
    with open_cache(settings, prompt.version) as cache:
        return {message for message in messages if cache.get(question_key(settings, prompt.version, message))}


@pytest.mark.slow
def test_killed_at_any_moment_then_run_again(tmp_path):
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        for more in (1, 4, 8):
            known, asked_before = cached_messages(settings), len(stub.questions)
            stub.holds = lambda _, number, last=asked_before + more: number >= last
            process = start(stub, settings.cache)
            # This number of questions is answered. The process then waits for as many replies as it may have open at a
            # time.
            while len(stub.questions) < asked_before + more + CONCURRENCY:
                assert process.poll() is None, process.communicate()
                time.sleep(0.002)
            process.kill()
            process.communicate()
            assert known <= cached_messages(settings)
            assert known.isdisjoint(stub.questions[asked_before:])
        known, asked_before = cached_messages(settings), len(stub.questions)
        stub.holds = None
        scores = scores_of(start(stub, settings.cache))
    assert 0 < len(known) < COUNT
    assert len(stub.questions) - asked_before == COUNT - len(known)
    assert known.isdisjoint(stub.questions[asked_before:])
    expected = {message: hashed_score(message) / 2 for message in stub.questions}
    assert Counter(scores) == Counter(expected.values())


@pytest.mark.slow
def test_two_processes_on_one_cache_agree(tmp_path):
    """The stub gives a different verdict on each call, but both processes end with the same verdicts."""

    def words(message, attempt):
        return json.dumps({"reason": str(attempt), "score": (hashed_score(message) + attempt) % 3})

    with StubJudge(words=words) as stub:
        stub.holds = lambda message, _: message == stub.questions[0] and stub.attempts[message] < 2
        cache = tmp_path / "new" / "judge.sqlite"
        processes = [start(stub, cache) for _ in range(2)]
        first, second = map(scores_of, processes)
    assert first == second and len(first) == COUNT
    assert max(Counter(stub.questions).values()) == 2, "both processes asked at the same time"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Return a cache file with all verdicts, as bytes, and these verdicts."""
    folder = tmp_path_factory.mktemp("sound")
    with StubJudge() as stub:
        settings = settings_for(stub, folder)
        verdicts = judge(many(COUNT), settings)
    return settings.cache.read_bytes(), [verdict.score for verdict in verdicts]


def judge_with(content: bytes, folder: Path) -> list[float | None] | None:
    """Return the scores with a cache file of this content, or None if a clear error leaves the file unchanged."""
    folder.mkdir(exist_ok=True)
    with StubJudge() as stub:
        settings = settings_for(stub, folder)
        settings.cache.write_bytes(content)
        try:
            return [verdict.score for verdict in judge(many(COUNT), settings)]
        except JudgeError as error:
            assert str(settings.cache) in str(error) and "LM_EVAL_JUDGE_CACHE" in str(error)
            return None


def test_a_cut_file(tmp_path, sound):
    content, scores = sound
    results = [judge_with(content[: len(content) * part // 8], tmp_path / str(part)) for part in range(9)]
    assert results[0] == results[8] == scores, "an empty file counts as a new one"
    assert all(result in (None, scores) for result in results) and None in results


@pytest.mark.parametrize("seed", range(12))
def test_broken_bytes(tmp_path, sound, seed):
    content, scores = sound
    broken = bytearray(content)
    maker = random.Random(seed)
    for _ in range(maker.choice((1, 5, 200))):
        broken[maker.randrange(100, len(broken))] = maker.randrange(256)
    assert judge_with(bytes(broken), tmp_path) in (None, scores)


@pytest.mark.parametrize(
    "change",
    ["UPDATE verdicts SET score = (score + 1) % 3", "UPDATE verdicts SET reason = 'x'", "UPDATE verdicts SET score = 7",
     "UPDATE verdicts SET raw = CAST(x'ff' AS TEXT)", "DELETE FROM verdicts"],
)  # fmt: skip
def test_a_changed_value_is_asked_again(tmp_path, sound, change):
    content, scores = sound
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        settings.cache.write_bytes(content)
        connection = sqlite3.connect(settings.cache)
        with connection:
            connection.execute(change)
        connection.close()
        assert [verdict.score for verdict in judge(many(COUNT), settings)] == scores
        assert len(stub.questions) == COUNT
        assert [verdict.score for verdict in judge(many(COUNT), settings)] == scores
        assert len(stub.questions) == COUNT


def test_what_is_not_ours_is_left_alone(tmp_path):
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    with connection:
        connection.execute("CREATE TABLE verdicts (precious TEXT)")
    connection.close()
    text = tmp_path / "notes.txt"
    text.write_text("precious " * 100, encoding="utf-8")
    for path in (other, text):
        content = path.read_bytes()
        with StubJudge() as stub, pytest.raises(JudgeError, match="LM_EVAL_JUDGE_CACHE"):
            prepare(settings_for(stub, tmp_path, cache=path))
        assert path.read_bytes() == content


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with StubJudge() as stub, pytest.raises(JudgeError, match="LM_EVAL_JUDGE_CACHE"):
        prepare(settings_for(stub, tmp_path, cache=tmp_path / "file" / "judge.sqlite"))


def test_another_judge_prompt_or_setting_is_another_question(tmp_path):
    mine = tmp_path / "mine.jinja"
    mine.write_text("{{ task }}{{ reference }}{{ answer }}", encoding="utf-8")
    with StubJudge() as stub:
        for changes in ({}, {"model": "second"}, {"extra": '{"seed": 1}'}, {"prompt": mine}, {}):
            settings = settings_for(stub, tmp_path)
            judge(many(1), type(settings)(**{**vars(settings), **changes}))
    assert len(stub.questions) == 4


def test_what_is_kept(tmp_path):
    with StubJudge(lambda message: 1) as stub:
        settings = settings_for(stub, tmp_path)
        judge(many(1), settings)
    connection = sqlite3.connect(settings.cache)
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    (row,) = connection.execute(
        "SELECT model, prompt_version, score, reason, raw, prompt_tokens, completion_tokens FROM verdicts"
    )
    connection.close()
    raw = '{"reason": "так решил судья", "score": 1}'
    assert row == ("stub-judge", load_prompt(settings).version, 1, "так решил судья", raw, 100, 10)
    assert mode == "wal"


@pytest.mark.parametrize("action", ["get", "put"])
def test_a_cache_that_fails_during_the_work_costs_no_verdict(tmp_path, monkeypatch, caplog, action):
    """Simulate a failing disk, for example a full one, at the only call to SQLite."""
    working = getattr(VerdictCache, action)
    calls = []

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) > COUNT // 2:
            raise sqlite3.OperationalError("disk I/O error")
        return working(self, *arguments)

    monkeypatch.setattr(VerdictCache, action, failing)
    with StubJudge() as stub:
        verdicts = judge(many(COUNT), settings_for(stub, tmp_path))
        assert None not in [verdict.score for verdict in verdicts]
        assert len(stub.questions) == COUNT
    assert caplog.text.count("can no longer be used (disk I/O error)") == 1
