"""Warnings after a run whose responses suggest that a setting is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.harness.task import count_cut
from tests.support.rows import data_folder, riddle
from tests.support.scripted import ScriptedModel, run


class Words:
    """A tokenizer that returns one token for each word."""

    def encode(self, text: str, add_special_tokens: bool) -> list[str]:
        return text.split()


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    messages = (record.getMessage() for record in caplog.records if record.name == "lm_eval.mera_ru_tasks")
    return [message for message in messages if "responses" in message]


@pytest.mark.parametrize(
    ("task", "answer", "settings", "words"),
    [
        ("riddles_closed", "<think>Хм, зверь?", {}, ["none of the 2 responses contains an answer", "_prefill"]),
        ("riddles_closed_prefill", " ", {}, ["none of the 2 responses contains an answer", "--num_fewshot"]),
        ("riddles_closed", "Ответ: снег", {}, []),
        ("riddles_closed", "Ответ: снег", {"predict_only": True}, []),
        ("riddles_closed", "", {"predict_only": True}, ["contains an answer"]),
    ],
)
def test_a_run_without_a_single_answer_gets_a_hint(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, task: str, answer: str, settings: Any, words: list[str]
) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)])
    run(None, [task], lambda doc, prompt: answer, data=root, **settings)
    messages = said(caplog)
    assert len(messages) == bool(words)
    assert all(word in messages[0] for word in words)


def test_one_answer_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)])
    run(None, ["riddles_closed"], lambda doc, prompt: "Ответ: снег" * (doc["meta"]["id"] == 2), data=root)
    assert said(caplog) == []


def test_cut_responses_are_counted_with_the_models_tokenizer(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ScriptedModel, "tokenizer", Words(), raising=False)
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2), riddle(3)])
    settings = {"apply_chat_template": True, "gen_kwargs": "max_new_tokens=5"}
    answers = {1: "Думаю. Ответ: снег", 2: "раз два три четыре пять", 3: "раз, два, три, четыре, пять"}
    run(None, ["riddles_closed"], lambda doc, prompt: answers[doc["meta"]["id"]], data=root, **settings)
    [message] = said(caplog)
    assert "2 of 3 responses reach the limit of 5 tokens" in message and "max_gen_toks=10" in message


@pytest.mark.parametrize(
    ("lengths", "limit", "tokenizer", "count"),
    [
        ([1023, 1024, 1025, 1003, 1004, 5, 0], 1024, Words(), 4),
        ([10], None, Words(), None),
        ([10], 10, None, None),
        ([], 10, Words(), 0),
    ],
)
def test_counting(lengths: list[int], limit: int | None, tokenizer: Words | None, count: int | None) -> None:
    assert count_cut(["а " * length for length in lengths], limit, tokenizer) == count


@pytest.mark.parametrize(("process", "times"), [("0", 1), ("1", 0)])
def test_what_several_tasks_filters_and_processes_find_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, process: str, times: int
) -> None:
    monkeypatch.setenv("LOCAL_RANK", process)
    rows = [{**riddle(number), "outputs": "снег" if number > 1 else ""} for number in range(1, 4)]
    run(
        None,
        ["riddles_closed", "riddles_closed_prefill"],
        lambda *_: "Ответ: снег",
        data=data_folder(tmp_path, "riddles", rows),
    )
    assert sum("no reference answer" in record.getMessage() for record in caplog.records) == times


def test_partly_scored_groups_are_counted_once_in_each_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for runs in (1, 2):
        run(None, ["russian_regions_sample"], lambda *_: "Ответ: А", limit=1)
        assert sum("1 of 1 groups was" in record.getMessage() for record in caplog.records) == runs
