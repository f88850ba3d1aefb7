"""The settings of a run, and the contents of its logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.issues import TaskError
from tests.support.known_scores import CASES, EXPECTED, REGIONS, answer_of, base_of, known_folder
from tests.support.rows import data_folder, riddle
from tests.support.scripted import ScriptedModel, numbers, run

NO_STOP = ["<no stop string>"]


@pytest.mark.parametrize("task", ["russian_regions", "riddles_closed", "enantiosemy_prefill"])
def test_predict_only_keeps_the_responses_and_scores_nothing(tmp_path: Path, task: str) -> None:
    base = base_of(task)
    cases = [case for case in CASES[base] if case[1] is not None]
    root = data_folder(tmp_path, base, [row for row, _ in cases])
    results = run(None, [task], answer_of(cases), data=root, predict_only=True)
    assert set(numbers(results, task)) <= {"bypass,strict-match", "bypass,flexible-extract"}
    logged = [sample["resps"][0][0] for sample in results["samples"][task] if sample["filter"] == "strict-match"]
    assert logged == [answer_of(cases)(row, "\nОтвет:" * task.endswith("prefill")) for row, _ in cases]


@pytest.mark.parametrize(
    ("task", "given", "sent"),
    [
        ("riddles_closed", None, {"until": NO_STOP, "do_sample": False, "max_gen_toks": 1024}),
        ("riddles_closed_prefill", None, {"until": ["\n"], "do_sample": False, "max_gen_toks": 32}),
        ("riddles_closed", "max_gen_toks=64", {"until": NO_STOP, "do_sample": False, "max_gen_toks": 64}),
        ("riddles_closed", {"until": ["</s>"], "do_sample": True, "temperature": 0.7},
         {"until": ["</s>"], "do_sample": True, "temperature": 0.7, "max_gen_toks": 1024}),
        ("riddles_closed_prefill", {"max_gen_toks": 8}, {"until": ["\n"], "do_sample": False, "max_gen_toks": 8}),
        *(("riddles_closed_prefill", f"{name}=64", {"until": ["\n"], "do_sample": False, "max_gen_toks": 64})
          for name in ("max_new_tokens", "max_tokens", "max_completion_tokens")),
        ("riddles_closed", "max_tokens=8,max_gen_toks=9", {"until": NO_STOP, "do_sample": False, "max_gen_toks": 9}),
    ],
)  # fmt: skip
def test_generation_settings(tmp_path: Path, task: str, given: Any, sent: dict[str, Any]) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    samples = run(None, [task], data=root, gen_kwargs=given)["samples"][task]
    assert samples[0]["arguments"][0][1] == sent


def test_samples_are_logged_with_their_own_numbers_in_any_order(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(number) for number in range(10, 15)])
    samples = run(None, ["riddles_closed"], data=root, samples={"riddles_closed": [4, 1, 4]})["samples"]
    logged = [(sample["doc_id"], sample["doc"]["meta"]["id"]) for sample in samples["riddles_closed"]]
    assert logged == [(1, 11), (4, 14)] * 2


@pytest.mark.parametrize("indices", [[3], [-1], ["0"], [True], [0.0], [], "0", {"0": 1}])
def test_samples_that_are_none_are_refused(tmp_path: Path, indices: Any) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2), riddle(3)])
    with pytest.raises(TaskError, match="--samples, task riddles_closed"):
        run(None, ["riddles_closed"], data=root, samples={"riddles_closed": indices})


@pytest.mark.parametrize(("given", "shown"), [(None, 0), (0, 0), (1, 1), (2, 2)])
def test_zero_shots_unless_asked_for(tmp_path: Path, given: int | None, shown: int) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)], [riddle(2), riddle(3)])
    results = run(None, ["riddles_closed"], data=root, num_fewshot=given)
    assert results["samples"]["riddles_closed"][0]["arguments"][0][0].count("\nОтвет: Снег\n\n") == shown
    assert (results["n-shot"]["riddles_closed"] or 0) == shown


def test_the_logs_hold_both_readings_of_every_response(tmp_path: Path) -> None:
    root = known_folder(tmp_path / "data")
    run(tmp_path / "logs", ["russian_regions"], answer_of(REGIONS), data=root)
    [results_file] = (tmp_path / "logs").rglob("results_*.json")
    [samples_file] = (tmp_path / "logs").rglob("samples_russian_regions_*.jsonl")
    results = json.loads(results_file.read_text(encoding="utf-8"))
    assert numbers(results, "russian_regions") == pytest.approx(EXPECTED["russian_regions"])
    lines = [json.loads(line) for line in samples_file.read_text(encoding="utf-8").splitlines()]
    assert [(line["doc_id"], line["filter"]) for line in lines] == [
        (number, name) for name in ("strict-match", "flexible-extract") for number in range(len(REGIONS))
    ]
    strict, flexible = lines[: len(REGIONS)], lines[len(REGIONS) :]
    assert [line["filtered_resps"] for line in strict] == [[response] for _, response in REGIONS]
    assert [line["filtered_resps"] for line in flexible] == [
        ["А"], ["Б; файл"], ["В; вехотка"], ["А"], ["Б; файл"], ["В; вехотка"], ["А"], ["Б; папка"], ["Г; вехотка"],
    ]  # fmt: skip
    assert strict[1]["doc"]["meta"] == {"id": 2, "group_id": 0, "task_type": 2, "group_size": 3}
    assert strict[1]["target"] == "Б; файл"
    assert strict[5]["exact_match"] == 0
    assert flexible[5]["exact_match"] == 1


def test_an_empty_message_of_an_api_is_an_empty_response(tmp_path: Path) -> None:
    root = data_folder(tmp_path / "data", "riddles", [riddle(1)])
    run(tmp_path / "logs", ["riddles_closed"], lambda doc, prompt: None, data=root)
    [file] = (tmp_path / "logs").rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [(line["resps"], line["filtered_resps"]) for line in lines] == [([[""]], [""])] * 2


def test_half_a_character_does_not_cost_the_log(tmp_path: Path) -> None:
    root = data_folder(tmp_path / "data", "riddles", [riddle(1), riddle(2)])
    run(tmp_path / "logs", ["riddles_closed"], lambda doc, prompt: "Ответ: снег \ud83d", data=root)
    [file] = (tmp_path / "logs").rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [line["resps"] for line in lines] == [[["Ответ: снег \ufffd"]]] * 4


def test_no_question_comes_from_lm_evals_cache_of_requests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """lm-eval's cache is keyed by the task's name, so it would reuse questions from other data and shots."""
    monkeypatch.setattr("lm_eval.caching.cache.PATH", str(tmp_path / "cache"))
    asked = []
    for number, seed in ((1, 1), (2, 1), (2, 2)):
        shots = [riddle(identity) for identity in range(10, 20)]
        root = data_folder(tmp_path / f"data{number}", "riddles", [riddle(number)], shots)
        settings = {"num_fewshot": 2, "fewshot_random_seed": seed, "cache_requests": True}
        [first, _] = run(None, ["riddles_closed"], data=root, **settings)["samples"]["riddles_closed"]
        asked.append(first["arguments"][0][0])
    assert [prompt.rpartition("Загадка ")[2] for prompt in asked] == ["1?", "2?", "2?"]
    assert len(set(asked)) == 3
    assert "--cache_requests is ignored" in caplog.text


def test_a_tokenizer_without_a_chat_template_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: Any, **settings: Any) -> str:
        raise ValueError("Cannot use chat template functions because tokenizer.chat_template is not set")

    monkeypatch.setattr(ScriptedModel, "apply_chat_template", refuse)
    root = data_folder(tmp_path, "riddles", [riddle(1)])
    with pytest.raises(TaskError, match="tokenizer has no chat template"):
        run(None, ["riddles_closed"], data=root, apply_chat_template=True)
