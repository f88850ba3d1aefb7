"""All questions of a task: which are asked, how, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from dataclasses import replace

import pytest
from judge_cases import KEY, many, riddle, settings_for, wrong
from judge_stub import FAULTS, StubJudge

from mera_ru_tasks.errors import JudgeError
from mera_ru_tasks.judge import engine
from mera_ru_tasks.judge.questions import ANSWER_LIMIT, shown_answer


@pytest.fixture(autouse=True)
def _quick_backoff(monkeypatch):
    """The SDK's waits between retries, a hundredth as long."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.005)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.08)
    monkeypatch.setattr("mera_ru_tasks.judge.client.LONGEST_WAIT", 0.08)


def scores(verdicts):
    return [verdict.score for verdict in verdicts]


@pytest.mark.parametrize(
    ("document", "score", "source", "changes"),
    [
        (riddle(1, "Ответ: репа", outputs=""), None, "no reference", {}),
        (riddle(1, "Ответ: Луковица!"), 1.0, "exact match", {}),
        (riddle(1, "Ответ: Луковица!"), 0.5, "asked", {"skip_exact": False}),
        (riddle(1, ""), 0.0, "empty answer", {}),
        (riddle(1, " \n"), 0.0, "empty answer", {}),
        (riddle(1, "\u200b\x00"), 0.0, "empty answer", {}),
        (riddle(1, "<think>Может, лук? Или"), 0.0, "empty answer", {}),
        (riddle(1, "Ответ: репа"), 0.5, "asked", {}),
        (riddle(1, "репа"), 0.5, "asked", {}),
    ],
)
def test_fewest_questions(tmp_path, document, score, source, changes):
    with StubJudge(lambda message: 1) as stub:
        verdicts = engine.judge([document], settings_for(stub, tmp_path, **changes))
    assert [(verdict.score, verdict.source) for verdict in verdicts] == [(score, source)]
    assert len(stub.questions) == (source == "asked")
    assert bool(stub.messages) == bool(stub.questions), "without a question not even a trial"


def test_one_question_holds_all_accepted_answers_and_twins_share_one(tmp_path):
    with StubJudge() as stub:
        verdicts = engine.judge([wrong(1), wrong(1), wrong(2)], settings_for(stub, tmp_path))
    assert len(stub.questions) == 2
    assert all("лук\nлуковица" in question for question in stub.questions)
    assert scores(verdicts)[0] == scores(verdicts)[1]


@pytest.mark.parametrize(
    ("response", "shown"),
    [
        ("Думаю, репа.\nОтвет: лук", "лук"),
        ("Ответ: репа\nНет. Ответ: лук\nПотому что слои.", "лук\nПотому что слои."),
        ("<think>Ответ: репа</think>лук", "лук"),
        ("**Ответ:** лук", "** лук"),
        ("Это лук. Ответ:", "Это лук. Ответ:"),
        ("x" * 5000 + " лук", ("x" * 5000 + " лук")[-ANSWER_LIMIT:]),
        ("Ответ: лук " + "x" * 5000, ("лук " + "x" * 5000)[:ANSWER_LIMIT]),
    ],
)
def test_the_answer_shown(response, shown):
    assert shown_answer(response).strip("* ") == shown.strip("* ")


def test_requests(tmp_path):
    with StubJudge() as stub:
        engine.judge([wrong(1)], settings_for(stub, tmp_path, extra='{"max_tokens": 99, "temperature": null}'))
    body = stub.bodies[-1]
    assert (body["model"], body["max_tokens"], "temperature" in body) == ("stub-judge", 99, False)
    assert body["response_format"]["json_schema"]["schema"]["properties"]["score"]["enum"] == [0, 1, 2]
    assert stub.headers[-1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("refuses", "trials"),
    [
        ({}, ["json_schema"]),
        ({"json_schema": 400}, ["json_schema", "json_object"]),
        ({"json_schema": 500}, ["json_schema"] * 4 + ["json_object"]),
        ({"json_schema": 422, "json_object": 400}, ["json_schema", "json_object", None]),
    ],
)
def test_the_form_of_output_is_what_the_server_takes(tmp_path, refuses, trials):
    def words(message, attempt):
        return "Неполно.\nОценка: 1" if len(refuses) == 2 else '{"reason": "Неполно.", "score": 1}'

    with StubJudge(refuses=refuses, words=words) as stub:
        verdicts = engine.judge(many(5), settings_for(stub, tmp_path))
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [(0.5, "Неполно.")] * 5
    assert [body.get("response_format", {}).get("type") for body in stub.bodies] == trials + [trials[-1]] * 5


def test_one_question_more_for_an_unreadable_verdict(tmp_path):
    def words(message, attempt):
        return '{"reason": "да", "score": 2}' if "Твой прошлый ответ" in message else "Ну, почти."

    with StubJudge(words=words) as stub:
        verdicts = engine.judge([wrong(1)], settings_for(stub, tmp_path))
    assert (scores(verdicts), len(stub.questions)) == ([1.0], 2)
    assert verdicts[0].reply.prompt_tokens == 200, "the tokens of both are counted"


def test_a_verdict_that_stays_unreadable_is_missing_and_not_zero(tmp_path, caplog):
    with StubJudge(words=lambda message, attempt: "0 из 10") as stub, caplog.at_level(logging.INFO, "lm_eval"):
        verdicts = engine.judge([wrong(1)], settings_for(stub, tmp_path))
    assert (scores(verdicts), len(stub.questions)) == ([None], 2)
    assert "1 of 1 documents have no verdict" in caplog.text


def test_a_judge_that_judged_nothing_has_no_score(tmp_path, caplog):
    """Exact matches count without a question, and alone they would make a perfect score."""
    documents = [riddle(1, "Ответ: лук"), riddle(2, ""), wrong(3), wrong(4)]

    def words(message, attempt):
        return '{"reason": "да", "score": 2}' if "репа 4" in message and readable else "Не знаю."

    readable = False
    with StubJudge(words=words) as stub:
        assert scores(engine.judge(documents, settings_for(stub, tmp_path))) == [None] * 4
        assert "Every question failed, so there is no judge score at all." in caplog.text
        readable = True
        assert scores(engine.judge(documents, settings_for(stub, tmp_path))) == [1.0, 0.0, None, 1.0]
    with StubJudge(words=lambda message, attempt: "Не знаю.") as stub:
        assert scores(engine.judge(documents[:2], settings_for(stub, tmp_path))) == [1.0, 0.0], "none was asked"
        assert scores(engine.judge(documents, settings_for(stub, tmp_path))) == [1.0, 0.0, None, 1.0], "one is cached"


def test_faults_change_no_verdict(tmp_path):
    """With 30% of replies failing, in every way by turns, all verdicts arrive, and are those of a sound server."""
    documents = many(120)
    maker = random.Random(7)
    plan: dict[str, list[str | None]] = {}

    def faults(message, attempt):
        if "Зимой и летом" in message:
            return None
        faulty = plan.setdefault(message, [maker.choice(FAULTS) if maker.random() < 0.3 else None for _ in range(50)])
        # A score off the scale is the judge's fault and asked about once more, in other words; that must be answered.
        return None if faulty[attempt] == "off scale" and "Твой прошлый ответ" in message else faulty[attempt]

    with StubJudge(faults=faults) as stub:
        verdicts = engine.judge(documents, settings_for(stub, tmp_path / "faulty", timeout=2.0))
    failed = [fault for message, count in stub.attempts.items() for fault in plan.get(message, [])[:count] if fault]
    assert set(failed) == set(FAULTS)
    with StubJudge() as stub:
        sound = engine.judge(documents, settings_for(stub, tmp_path / "sound"))
    assert scores(verdicts) == scores(sound)
    assert set(scores(sound)) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("fault", FAULTS[:-1])
def test_each_fault_is_passing(tmp_path, fault):
    def faults(message, attempt):
        return fault if attempt < 2 and "загадка" in message else None

    with StubJudge(lambda message: 2, faults=faults) as stub:
        verdicts = engine.judge([wrong(1)], settings_for(stub, tmp_path, timeout=1.5))
    assert (scores(verdicts), len(stub.questions)) == ([1.0], 3)


def test_a_server_that_dies_half_way(tmp_path, caplog):
    """The run ends: what was judged counts, what was not is missing and counted, and is all that a rerun asks for."""
    documents = many(60)

    def faults(message, attempt):
        return "reset" if len(stub.questions) > 30 else None

    settings = {"concurrency": 4, "retries": 1}
    with StubJudge(faults=faults) as stub, caplog.at_level(logging.INFO, "lm_eval"):
        first = engine.judge(documents, settings_for(stub, tmp_path, **settings))
    assert scores(first).count(None) == 30
    assert len(stub.questions) <= 30 + 2 * 3 * 4, "a dead server is not asked all the rest"
    assert "failed: 30" in caplog.text and "30 of 60 documents have no verdict" in caplog.text
    with StubJudge() as stub:
        second = engine.judge(documents, settings_for(stub, tmp_path, **settings))
    assert len(stub.questions) == 30
    with StubJudge() as stub:
        sound = engine.judge(documents, settings_for(stub, tmp_path / "sound"))
    assert scores(second) == scores(sound)
    assert all(before in (None, after) for before, after in zip(scores(first), scores(sound), strict=True))


def test_a_question_that_the_server_refuses_costs_that_question_alone(tmp_path):
    def faults(message, attempt):
        return "400" if "загадка 3" in message else None

    with StubJudge(faults=faults) as stub:
        verdicts = engine.judge(many(8), settings_for(stub, tmp_path, concurrency=1, retries=0))
    assert [number for number, verdict in enumerate(verdicts) if verdict.score is None] == [3]


def test_the_closing_line(tmp_path, caplog):
    documents = [*many(5), riddle(10, "Ответ: лук"), riddle(11, ""), riddle(12, "репа", outputs="")]
    with StubJudge() as stub, caplog.at_level(logging.INFO, "lm_eval"):
        settings = settings_for(stub, tmp_path)
        engine.judge(documents[:2], settings)
        engine.judge(documents, settings, "riddles")
    line = caplog.messages[-1]
    assert line.startswith("Judge stub-judge on riddles: 8 documents; not asked: ")
    assert all(part in line for part in ("1 exact match", "1 empty answer", "1 no reference", "cached: 2", "asked: 3"))
    assert "tokens: 300 in, 30 out" in line and line.endswith(" s")


def test_questions_are_open_at_a_time_but_no_more_than_allowed(tmp_path):
    open_now, most = 0, 0

    class Counting(StubJudge):
        async def _reply(self, request):
            nonlocal open_now, most
            open_now += 1
            most = max(most, open_now)
            await asyncio.sleep(0.02)
            response = await super()._reply(request)
            open_now -= 1
            return response

    with Counting() as stub:
        engine.judge(many(40), settings_for(stub, tmp_path, concurrency=8))
    assert most == 8


def test_inside_a_running_event_loop(tmp_path):
    async def cell():
        return engine.judge(many(3), settings_for(stub, tmp_path))

    with StubJudge(lambda message: 2) as stub:
        assert scores(asyncio.run(cell())) == [1.0] * 3


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("401", "refuses the key"),
        ("403", "refuses the key"),
        ("404", "LM_EVAL_JUDGE_MODEL"),
        ("418", "LM_EVAL_JUDGE_EXTRA"),
        ("reset", "cannot be reached"),
        ("timeout", "LM_EVAL_JUDGE_TIMEOUT"),
        ("no json", "protocol"),
        ("no choices", "protocol"),
    ],
)
def test_a_judge_that_cannot_be_used_is_known_before_the_run(tmp_path, fault, says):
    with StubJudge(faults=lambda message, attempt: fault) as stub:
        settings = settings_for(stub, tmp_path, timeout=0.3)
        with pytest.raises(JudgeError, match=says) as error:
            engine.prepare(settings)
    assert "unset LM_EVAL_JUDGE_API_BASE" in str(error.value)


def test_a_closed_port_is_known_before_the_run(tmp_path):
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
    with pytest.raises(JudgeError, match="cannot be reached"):
        engine.prepare(settings)


def test_no_key_is_written_anywhere(tmp_path, caplog, capfd):
    """Servers repeat keys in their errors, and a judge could in its words."""
    reply = json.dumps({"reason": f"ключ {KEY}", "score": 1})
    with caplog.at_level(logging.DEBUG):
        with StubJudge(key="another") as stub, pytest.raises(JudgeError) as error:
            engine.prepare(settings_for(stub, tmp_path))
        assert "Incorrect API key" in str(error.value)
        with StubJudge(words=lambda message, attempt: reply) as stub:
            verdicts = engine.judge(many(2), settings_for(stub, tmp_path))
        failing = StubJudge(faults=lambda message, attempt: None if "Зимой" in message else f"bad {KEY}")
        with failing as stub:
            verdicts += engine.judge([wrong(9)], settings_for(stub, tmp_path))
    assert verdicts[0].reason == "ключ ***" and "bad ***" in verdicts[-1].reason
    written = [*caplog.messages, str(error.value), repr(verdicts), *capfd.readouterr()]
    assert not any(KEY in text for text in written)
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize("key", ["0", "2", "none", "score", "reason", KEY])
def test_the_key_changes_no_verdict_whatever_it_is(tmp_path, key):
    """A server without keys takes any, and the message that asks for one says so."""
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        expected = engine.judge(many(12), settings)
        given = engine.judge(many(12), replace(settings, key=key, cache=tmp_path / "other.sqlite"))
    assert scores(given) == scores(expected)
    assert set(scores(given)) == {0.0, 0.5, 1.0}


@pytest.mark.parametrize("package", ["openai", "aiohttp"])
def test_without_the_package(tmp_path, monkeypatch, package):
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        monkeypatch.setitem(__import__("sys").modules, package, None)
        with pytest.raises(JudgeError, match=r'pip install "mera-ru-tasks\[judge\]"'):
            engine.prepare(settings)
