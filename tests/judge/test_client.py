"""The messages that count as verdicts, and the replies that count as chat completions."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mera_ru_tasks.judge.client import MalformedReplyError, parse_completion, parse_verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ('{"reason": "верно", "score": 2}', (2, "верно")),
        ('{"score": 0, "reason": ""}', (0, "")),
        ('{"score": 1}', (1, "")),
        ('  {"score": 1, "reason": "половина"}\n', (1, "половина")),
        ('```json\n{"score": 2, "reason": "да"}\n```', (2, "да")),
        ("```\n2\n```", (2, "")),
        ('<think>{"score": 0}</think>{"score": 2, "reason": "да"}', (2, "да")),
        ("1", (1, "")),
        ("Ответ неполный.\nОценка: 1", (1, "Ответ неполный.")),
        ("Всё верно.\n\n**Оценка:** 2.", (2, "Всё верно.")),
        ("score = 0", (0, "")),
        ('{"score": 2, "reason": "\\ud800"}', (2, "\ufffd")),
    ],
)
def test_readable(text, verdict):
    assert parse_verdict(text) == verdict


@pytest.mark.parametrize(
    "text",
    [
        "",
        "верно",
        "3",
        "-1",
        "0.5",
        "2 балла",
        "2/2",
        '{"score": 3, "reason": ""}',
        '{"score": -1}',
        '{"score": 1.0}',
        '{"score": 0.5}',
        '{"score": true}',
        '{"score": "2"}',
        '{"score": null}',
        '{"reason": "верно"}',
        '{"score": 0, "score": 2}',
        '{"reason": "верно", "score": 2',
        '[{"score": 2}]',
        '{"score": 2} {"score": 0}',
        'Вот: {"score": 2}',
        "Оценка: 2\nОценка: 0",
        "Оценка: 2\nХотя нет.",
        "Оценка: 10",
        "Оценка: 2 или 1",
        "<think>Оценка: 2",
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_unreadable(text):
    assert parse_verdict(text) is None


@given(st.text())
def test_no_text_breaks_the_reading(text):
    verdict = parse_verdict(text)
    assert verdict is None or verdict[0] in (0, 1, 2)


@given(st.integers(0, 2), st.text())
@example(0, "<unused94>")
@example(2, "Модель не закрыла <think>")
@example(1, "</think>")
def test_every_verdict_of_the_schema_is_read(score, reason):
    parsed = parse_verdict(json.dumps({"reason": reason, "score": score}))
    assert parsed is not None and parsed[0] == score
    parsed[1].encode()


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html>502</html>",
        '{"choices": [{"message": {"con',
        "null",
        "[]",
        "{}",
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": "text"}',
        '{"choices": [null]}',
        '{"choices": [{}]}',
        '{"choices": [{"message": "2"}]}',
        "[" * 100_000,
    ],
)
def test_no_completion(body):
    with pytest.raises(MalformedReplyError):
        parse_completion(body)


@pytest.mark.parametrize("content", [None, 1, [{"type": "text"}]])
def test_a_message_without_text_is_an_empty_one(content):
    completion = parse_completion(json.dumps({"choices": [{"message": {"content": content}}], "usage": None}))
    assert (completion.text, completion.prompt_tokens, completion.completion_tokens) == ("", 0, 0)
