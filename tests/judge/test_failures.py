"""Failures of the judge: what is lost, what is kept, and what is detected before the run."""

from __future__ import annotations

import logging
import random

import pytest

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.run import judge, prepare
from tests.support.judge_cases import KEY, many, riddle, scores, settings_for, wrong
from tests.support.judge_stub import FAULTS, StubJudge, is_test

pytestmark = pytest.mark.usefixtures("quick_backoff")


def test_one_question_more_for_an_unreadable_verdict(tmp_path):
    def words(message, attempt):
        return None if "Твой прошлый ответ" in message else "Ну, почти."

    with StubJudge(lambda message: 2, words=words) as stub:
        verdicts = judge([wrong(1)], settings_for(stub, tmp_path))
    assert (scores(verdicts), len(stub.questions)) == ([1.0], 2)
    assert verdicts[0].verdict.prompt_tokens == 200, "the tokens of both replies are counted"


def test_a_verdict_that_stays_unreadable_is_missing_and_not_zero(tmp_path, caplog):
    with (
        StubJudge(words=lambda message, attempt: None if is_test(message) else "0 из 10") as stub,
        caplog.at_level(logging.INFO, "lm_eval"),
    ):
        verdicts = judge([wrong(1)], settings_for(stub, tmp_path))
    assert (scores(verdicts), len(stub.questions)) == ([None], 2)
    assert "asked: 1; failed: 1;" in caplog.text
    assert "1 of 1 documents has no judge verdict" in caplog.text


@pytest.mark.parametrize(
    ("replies", "sent", "is_usable"),
    [
        (["Ответ: Б", None], 2, True),
        (["Ответ: Б", "", None], 3, True),
        (["Ответ: Б", "Б", f"\x1b[2J{KEY}" + "б" * 5000], 3, False),
        (["", "", ""], 3, False),
    ],
)
def test_a_judge_that_never_gives_a_verdict_is_known_before_the_run(tmp_path, replies, sent, is_usable):
    with StubJudge(words=lambda message, attempt: replies[len(stub.messages) - 1]) as stub:
        settings = settings_for(stub, tmp_path)
        if is_usable:
            prepare(settings)
        else:
            with pytest.raises(JudgeError) as error:
                prepare(settings)
            text = str(error.value)
            assert "LM_EVAL_JUDGE_EXTRA" in text and "unset LM_EVAL_JUDGE_API_BASE" in text
            assert len(text) < 1000 and "\x1b" not in text and KEY not in text
            assert ("бббб" in text) == bool(replies[-1])
    assert len(stub.messages) == sent


def test_a_judge_that_judged_nothing_has_no_score(tmp_path, caplog):
    """Exact matches need no question. Alone, they would give a perfect score."""
    documents = [riddle(1, "Ответ: лук"), riddle(2, ""), wrong(3), wrong(4)]

    def words(message, attempt):
        return None if is_test(message) or ("репа 4" in message and readable) else "Не знаю."

    readable = False
    with StubJudge(lambda message: 2, words=words) as stub:
        assert scores(judge(documents, settings_for(stub, tmp_path))) == [None] * 4
        assert "Every question failed, so no judge score is reported." in caplog.text
        readable = True
        assert scores(judge(documents, settings_for(stub, tmp_path))) == [1.0, 0.0, None, 1.0]
    with StubJudge(words=lambda message, attempt: None if is_test(message) else "Не знаю.") as stub:
        assert scores(judge(documents[:2], settings_for(stub, tmp_path))) == [1.0, 0.0], "no question was sent"
        assert scores(judge(documents, settings_for(stub, tmp_path))) == [1.0, 0.0, None, 1.0], "one verdict is cached"


def test_faults_change_no_verdict(tmp_path):
    """If 30% of replies fail in various ways, all verdicts still arrive and equal those of a server without faults."""
    documents = many(120)
    maker = random.Random(7)
    plan: dict[str, list[str | None]] = {}

    def faults(message, attempt):
        if is_test(message):
            return None
        faulty = plan.setdefault(message, [maker.choice(FAULTS) if maker.random() < 0.3 else None for _ in range(50)])
        # A score outside the scale is the judge's error. The question is asked a second time with other words, and this
        # request must succeed.
        return None if faulty[attempt] == "off scale" and "Твой прошлый ответ" in message else faulty[attempt]

    with StubJudge(faults=faults) as stub:
        verdicts = judge(documents, settings_for(stub, tmp_path / "faulty", timeout=2.0))
    failed = [fault for message, count in stub.attempts.items() for fault in plan.get(message, [])[:count] if fault]
    assert set(failed) == set(FAULTS)
    with StubJudge() as stub:
        sound = judge(documents, settings_for(stub, tmp_path / "sound"))
    assert scores(verdicts) == scores(sound)
    assert set(scores(sound)) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_each_fault_is_passing(tmp_path, fault):
    def faults(message, attempt):
        return fault if attempt < 2 and "загадка" in message else None

    with StubJudge(lambda message: 2, faults=faults) as stub:
        verdicts = judge([wrong(1)], settings_for(stub, tmp_path, timeout=1.5))
    assert (scores(verdicts), len(stub.questions)) == ([1.0], 3)


def test_a_server_that_dies_half_way(tmp_path, caplog):
    """The run completes. Existing verdicts count, missing ones are reported, and a rerun asks only for them."""
    documents = many(60)

    def faults(message, attempt):
        return "reset" if len(stub.questions) > 30 else None

    settings = {"concurrency": 4, "retries": 1}
    with StubJudge(faults=faults) as stub, caplog.at_level(logging.INFO, "lm_eval"):
        first = judge(documents, settings_for(stub, tmp_path, **settings))
    assert scores(first).count(None) == 30
    assert len(stub.questions) <= 30 + 2 * 3 * 4, "the remaining questions are not sent to a dead server"
    sent = len(set(stub.questions))
    assert f"asked: {sent}; failed: 30" in caplog.text and "30 of 60 documents have no judge verdict" in caplog.text
    with StubJudge() as stub:
        second = judge(documents, settings_for(stub, tmp_path, **settings))
    assert len(stub.questions) == 30
    with StubJudge() as stub:
        sound = judge(documents, settings_for(stub, tmp_path / "sound"))
    assert scores(second) == scores(sound)
    assert all(before in (None, after) for before, after in zip(scores(first), scores(sound), strict=True))


def test_a_question_that_the_server_refuses_costs_that_question_alone(tmp_path):
    def faults(message, attempt):
        return "400" if "загадка 3" in message else None

    with StubJudge(faults=faults) as stub:
        verdicts = judge(many(8), settings_for(stub, tmp_path, concurrency=1, retries=0))
    assert [number for number, verdict in enumerate(verdicts) if verdict.score is None] == [3]


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("401", "refuses the key"),
        ("403", "refuses the key"),
        ("404", "LM_EVAL_JUDGE_MODEL"),
        ("418", "LM_EVAL_JUDGE_EXTRA"),
        ("reset", "cannot be reached"),
        ("timeout", "LM_EVAL_JUDGE_TIMEOUT"),
        ("no json", "chat API"),
        ("no choices", "chat API"),
    ],
)
def test_a_judge_that_cannot_be_used_is_known_before_the_run(tmp_path, fault, says):
    with StubJudge(faults=lambda message, attempt: fault) as stub:
        settings = settings_for(stub, tmp_path, timeout=0.3)
        with pytest.raises(JudgeError, match=says) as error:
            prepare(settings)
    assert "unset LM_EVAL_JUDGE_API_BASE" in str(error.value)


def test_a_closed_port_is_known_before_the_run(tmp_path, monkeypatch):
    """Without loading the SDK, and without a second attempt."""
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "openai", None)
    with pytest.raises(JudgeError, match="cannot be reached"):
        prepare(settings)


@pytest.mark.parametrize("package", ["openai", "aiohttp"])
def test_without_the_package(tmp_path, monkeypatch, package):
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(JudgeError, match=r'pip install "mera-ru-tasks\[judge\]"'):
            prepare(settings)


@pytest.mark.parametrize("fault", ["endless", "bomb"])
def test_a_reply_without_an_end_costs_its_verdict_and_little_memory(tmp_path, monkeypatch, fault):
    monkeypatch.setattr("mera_ru_tasks.judge.client.LARGEST_REPLY", 1 << 20)

    def faults(message, attempt):
        return fault if "загадка" in message else None

    with StubJudge(faults=faults) as stub:
        judgements = judge([wrong(1)], settings_for(stub, tmp_path, retries=1))
        assert scores(judgements) == [None]
        # The bytes that the client read, and those in the buffers of the connection.
        assert stub.flooded < 1 << 28
