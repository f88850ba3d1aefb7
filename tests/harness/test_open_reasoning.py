"""Reasoning that the chat template opens at the end of the prompt: an answer inside it does not count."""

from __future__ import annotations

from pathlib import Path

import pytest

from mera_ru_tasks.judge.questions import EMPTY, EXACT, question_for
from mera_ru_tasks.logs.rescore import our_logs, read_responses, score_log
from tests.support.scripted import ScriptedModel, numbers, reference, run

TASK = "enantiosemy_sample"


@pytest.mark.parametrize(("closing", "right"), [("", 0), ("</think>\n", 1)])
def test_a_draft_counts_only_behind_the_closing_mark(tmp_path: Path, monkeypatch, closing: str, right: int) -> None:
    template = ScriptedModel.apply_chat_template
    monkeypatch.setattr(
        ScriptedModel, "apply_chat_template", lambda *args, **kwargs: template(*args, **kwargs) + "<think>\n"
    )
    results = run(
        tmp_path,
        [TASK],
        lambda doc, prompt: f"Сравним фразы. {closing}{reference(doc)}",
        apply_chat_template=True,
        limit=3,
    )
    expected = {"exact_match,flexible-extract": right, "exact_match,strict-match": 1}
    assert expected.items() <= numbers(results, TASK).items()
    rows = score_log(read_responses(our_logs([tmp_path])[0])).rows
    assert {(row.sample.filter, row.scores["exact_match"]) for row in rows} == {
        ("strict-match", 1),
        ("flexible-extract", right),
    }


def test_the_judge_is_not_asked_about_a_draft() -> None:
    doc = {"outputs": "Б", "answer_format": {"choices": "АБВГ", "max_choices": 1}, "meta": {"id": 1}}
    assert question_for(doc, "<think>Сравним. Ответ: Б") is EMPTY
    assert question_for(doc, "<think>Сравним.</think> Ответ: Б") is EXACT
