"""The questions of a task: which are asked, how they are asked, and how failures are handled."""

from __future__ import annotations

import asyncio
import json
import logging
from dataclasses import replace

import pytest

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.config import NO_KEY, from_environment
from mera_ru_tasks.judge.questions import ANSWER_LIMIT, shown_answer
from mera_ru_tasks.judge.run import judge, prepare
from tests.support.judge_cases import KEY, many, riddle, scores, settings_for, wrong
from tests.support.judge_stub import StubJudge

pytestmark = pytest.mark.usefixtures("quick_backoff")


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
        verdicts = judge([document], settings_for(stub, tmp_path, **changes))
    assert [(verdict.score, verdict.source) for verdict in verdicts] == [(score, source)]
    assert len(stub.questions) == (source == "asked")
    assert bool(stub.messages) == bool(stub.questions), "without a question, no test question is sent"


def test_one_question_holds_all_accepted_answers_and_twins_share_one(tmp_path):
    with StubJudge() as stub:
        verdicts = judge([wrong(1), wrong(1), wrong(2)], settings_for(stub, tmp_path))
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
        judge([wrong(1)], settings_for(stub, tmp_path, extra='{"max_tokens": 99, "temperature": null}'))
    body = stub.bodies[-1]
    assert (body["model"], body["max_tokens"], "temperature" in body) == ("stub-judge", 99, False)
    assert body["response_format"]["json_schema"]["schema"]["properties"]["score"]["enum"] == [0, 1, 2]
    assert stub.headers[-1]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("refuses", "formats"),
    [
        ({}, ["json_schema"]),
        ({"json_schema": 400}, ["json_schema", "json_object"]),
        ({"json_schema": 500}, ["json_schema"] * 2 + ["json_object"]),
        ({"json_schema": 422, "json_object": 400}, ["json_schema", "json_object", None]),
    ],
)
def test_the_form_of_output_is_what_the_server_takes(tmp_path, refuses, formats):
    def words(message, attempt):
        return "Неполно.\nОценка: 1" if len(refuses) == 2 else '{"reason": "Неполно.", "score": 1}'

    with StubJudge(refuses=refuses, words=words) as stub:
        verdicts = judge(many(5), settings_for(stub, tmp_path))
    assert [(verdict.score, verdict.reason) for verdict in verdicts] == [(0.5, "Неполно.")] * 5
    assert [body.get("response_format", {}).get("type") for body in stub.bodies] == formats + [formats[-1]] * 5


@pytest.mark.parametrize("end", ["/v1", "/v1/", "", "/"])
def test_an_address_with_or_without_its_version(end, tmp_path):
    with StubJudge(lambda message: 2) as stub:
        environment = {
            "LM_EVAL_JUDGE_API_BASE": stub.url.removesuffix("/v1") + end,
            "LM_EVAL_JUDGE_MODEL": "judge",
            "LM_EVAL_JUDGE_CACHE": str(tmp_path / "cache.sqlite"),
        }
        settings = from_environment(environment)
        prepare(settings)
        assert scores(judge(many(3), settings)) == [1.0] * 3
    assert len(stub.questions) == 3 and len(stub.messages) == 4
    assert stub.headers[-1]["Authorization"] == "Bearer none"


def test_an_address_that_is_wrong_in_either_form_is_named_as_it_was_given(tmp_path):
    with StubJudge() as stub, pytest.raises(JudgeError) as error:
        prepare(replace(settings_for(stub, tmp_path), api_base=f"{stub.url}/x"))
    assert f"{stub.url}/x " in str(error.value) and "/x/v1" not in str(error.value)


def test_a_server_that_needs_a_key_says_so(tmp_path):
    with StubJudge(key="secret") as stub, pytest.raises(JudgeError) as error:
        prepare(replace(settings_for(stub, tmp_path), key=NO_KEY))
    assert "LM_EVAL_JUDGE_API_KEY" in str(error.value) and "needs a key" in str(error.value)


def test_the_closing_line(tmp_path, caplog):
    documents = [*many(5), riddle(10, "Ответ: лук"), riddle(11, ""), riddle(12, "репа", outputs="")]
    with StubJudge() as stub, caplog.at_level(logging.INFO, "lm_eval"):
        settings = settings_for(stub, tmp_path)
        judge(documents[:2], settings)
        judge(documents, settings, "riddles")
    line = caplog.messages[-1]
    assert line.startswith("Judge stub-judge on riddles: 8 documents; skipped: ")
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
        judge(many(40), settings_for(stub, tmp_path, concurrency=8))
    assert most == 8


def test_inside_a_running_event_loop(tmp_path):
    async def cell():
        return judge(many(3), settings_for(stub, tmp_path))

    with StubJudge(lambda message: 2) as stub:
        assert scores(asyncio.run(cell())) == [1.0] * 3


def test_no_key_is_written_anywhere(tmp_path, caplog, capfd):
    """Servers repeat keys in error messages, and a judge could repeat them in its text."""
    reply = json.dumps({"reason": f"ключ {KEY}", "score": 1})
    with caplog.at_level(logging.DEBUG):
        with StubJudge(key="another") as stub, pytest.raises(JudgeError) as error:
            prepare(settings_for(stub, tmp_path))
        assert "Incorrect API key" in str(error.value)
        with StubJudge(words=lambda message, attempt: reply) as stub:
            verdicts = judge(many(2), settings_for(stub, tmp_path))
        failing = StubJudge(faults=lambda message, attempt: None if "Зимой" in message else f"bad {KEY}")
        with failing as stub:
            verdicts += judge([wrong(9)], settings_for(stub, tmp_path))
    assert verdicts[0].reason == "ключ HIDDEN" and "bad HIDDEN" in verdicts[-1].reason
    written = [*caplog.messages, str(error.value), repr(verdicts), *capfd.readouterr()]
    assert not any(KEY in text for text in written)
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


@pytest.mark.parametrize("key", ["0", "2", "none", "score", "reason", KEY])
def test_the_key_changes_no_verdict_whatever_it_is(tmp_path, key):
    """A server without keys accepts any key, and the message that asks for a key says so."""
    with StubJudge() as stub:
        settings = settings_for(stub, tmp_path)
        expected = judge(many(12), settings)
        given = judge(many(12), replace(settings, key=key, cache=tmp_path / "other.sqlite"))
    assert scores(given) == scores(expected)
    assert set(scores(given)) == {0.0, 0.5, 1.0}
