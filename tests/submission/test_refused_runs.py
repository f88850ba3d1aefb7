"""A run that the leaderboard would not take is refused, with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.archives import answer, edit_results, fault, ids_of, move_to_other_run, only_id, rewrite
from tests.support.scripted import run


def rename_task(logs: Path, task: str, name: str) -> None:
    (file,) = logs.rglob(f"samples_{task}_*")
    file.rename(file.parent / file.name.replace(task, name, 1))


def sampled(row):
    row["arguments"]["gen_args_0"]["arg_1"] |= {"do_sample": True, "temperature": 0.7}
    return row


def warm(row):
    row["arguments"]["gen_args_0"]["arg_1"]["temperature"] = 0.3
    return row


def with_id(identity):
    return lambda row: {**row, "doc": {**row["doc"], "meta": {**row["doc"]["meta"], "id": identity}}}


def with_inputs(row):
    row["doc"]["inputs"]["question"] += "!"
    return row


# What is done to the logs; parts of the message; whether --partial packs the rest all the same.
HOLES: dict[str, tuple[Callable[[Path], Any], list[str], bool]] = {
    "a task without a log": (
        lambda logs: next(logs.rglob("samples_russian*")).unlink(),
        ["Missing: russian_regions: RussianRegions.json: there is no log", "--tasks russian_regions --log"], True,
    ),
    "a prefilled task instead": (
        lambda logs: rename_task(logs, "enantiosemy", "enantiosemy_prefill"),
        ["Missing: enantiosemy: Enantiosemy.json", "`enantiosemy_prefill` cannot stand for it", "prefilled"], True,
    ),
    "a sample task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_sample"),
        ["`riddles_sample` cannot stand for it: it runs the package's own sample data"], True,
    ),
    "a shots task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_closed_shots"),
        ["`riddles_closed_shots` cannot stand for it: it runs the public shots"], True,
    ),
    "a missing id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: None)),
        ["Missing: riddles_closed:", "samples_riddles_closed_", "not answered: id 12 of", "(1 of 500)"], True,
    ),
    "many missing ids": (
        lambda logs: rewrite(logs, "enantiosemy", lambda row: row if row["doc_id"] % 2 and row["doc_id"] > 9 else None),
        ["ids 1 to 11, 13, 15, 17", "and 238 more of", "(258 of 506)"], True,
    ),
    "documents not run": (
        lambda logs: edit_results(logs, lambda results: results["n-samples"]["enantiosemy"].update(original=507)),
        ["Missing: enantiosemy:", "it holds only 506 of the task's 507 documents", "without --samples"], True,
    ),
    "a limit": (
        lambda logs: edit_results(logs, lambda all: (all.pop("n-samples"), all["config"].update(limit=9.0))),
        ["the run had --limit 9.0", "Run again without --limit"], True,
    ),
    "an id twice": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: [row, row])),
        ["Problem: riddles_closed:", "samples_riddles_closed_", "line 13: id 12 stands already in", "line 12"], False,
    ),
    "a foreign id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id(9012))),
        ["/Riddles/test.json: id 9012. Run on", "name the data that the run had with --data"], False,
    ),
    "a document without id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id("12"))),
        ["line 12: the document has no integer `meta.id`"], False,
    ),
    "another question": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_inputs)),
        ["run with another instruction or other inputs than in", "test.json: id 12. Run"], False,
    ),
    "rows of no pipeline of ours": (
        lambda logs: rewrite(logs, "riddles_closed", lambda row: {**row, "filter": "none"}),
        ["it has no row of the pipeline `strict-match`"], False,
    ),
    "half a character": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: {**row, "resps": [["\ud83d"]]})),
        ["the response to id 12 holds half a character"], False,
    ),
    "no results file": (
        lambda logs: next(logs.rglob("results_*")).unlink(),
        ["Problem: enantiosemy:", "its results file, results_", "is not beside it"], False,
    ),
    "shots": (
        lambda logs: edit_results(logs, lambda results: results["n-shot"].update(russian_regions=3)),
        ["Problem: russian_regions:", "results_", "`n-shot` is 3, not 0", "without --num_fewshot"], False,
    ),
    "sampled answers": (
        lambda logs: rewrite(logs, "enantiosemy", sampled),
        ["sampled, not greedy (do_sample=True): ids 1 to 506", "--gen_kwargs"], False,
    ),
    "a temperature": (
        lambda logs: rewrite(logs, "enantiosemy", only_id(3, warm)), ["not greedy (temperature=0.3): id 3"], False,
    ),
    "other generation settings": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(gen_kwargs={"max_gen_toks": 9})),
        ["Problem: riddles_closed:", "--gen_kwargs is {'max_gen_toks': 9}, but not set in enantiosemy"], False,
    ),
    "another chat template": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(chat_template="{{ x }}")),
        ["--apply_chat_template is '{{ x }}', but not set in enantiosemy"], False,
    ),
    "a system instruction": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(system_instruction="Думай.")),
        ["--system_instruction is 'Думай.', but not set in enantiosemy"], False,
    ),
    "another revision of the model": (
        lambda logs: move_to_other_run(
            logs, lambda results: results["config"].update(model_args="pretrained=org/scripted,revision=b")
        ),
        ["--model_args revision is 'b', but not set in enantiosemy"], False,
    ),
    "another backend": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(model="vllm")),
        ["--model is 'vllm', but 'ScriptedModel' in enantiosemy"], False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOLES)
def test_a_hole_is_named_and_stops_it(case, logs, data, mera_ru, tmp_path):
    break_logs, messages, partial_passes = HOLES[case]
    break_logs(logs)
    outcome = mera_ru("submit", logs, "--data", data, *([] if partial_passes else ["--partial"]))
    assert outcome.status == 1 and "Nothing was written" in outcome.out
    assert not (tmp_path / "submission.zip").exists()
    for message in messages:
        assert message in outcome.out
    if partial_passes:
        assert "add --partial" in outcome.out
        partial = mera_ru("submit", logs, "--data", data, "--partial")
        assert partial.status == 0 and messages[0] in partial.out and "Something is missing from it" in partial.out
        whole = case in ("documents not run", "a limit")  # here only the results say so
        assert (fault(tmp_path / "submission.zip", ids_of(data)) == "") == whole


ERRORS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a cut log": (
        lambda logs: (file := next(logs.rglob("samples_riddles*"))).write_bytes(file.read_bytes()[:-100]),
        "The last line is cut",
    ),
    "a cut results file": (
        lambda logs: (file := next(logs.rglob("results_*"))).write_bytes(file.read_bytes()[:-100]), "is not valid JSON",
    ),
    "several models": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(model_name="org/other")),
        "The logs are of several models: 'org/other', 'org/scripted'",
    ),
    "no log": (lambda logs: [file.unlink() for file in logs.rglob("samples_*")], "lm-eval ran without --log_samples"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_logs_that_cannot_be_read_are_an_error(case, logs, mera_ru, tmp_path):
    ERRORS[case][0](logs)
    outcome = mera_ru("submit", logs)
    assert outcome.status == 1 and ERRORS[case][1] in outcome.err and "Traceback" not in outcome.err
    assert not (tmp_path / "submission.zip").exists()


REAL = {
    "limit": ({"limit": 3}, ["riddles_closed"], "the run had --limit 3"),
    "shots": ({"num_fewshot": 1, "limit": 3}, ["riddles_closed"], "`n-shot` is 1, not 0"),
    "sampling": (
        {"gen_kwargs": "do_sample=true,temperature=0.5", "limit": 3},
        ["riddles_closed"],
        "(do_sample=True): ids 1 to 3",
    ),
    "samples": (
        {"samples": {"riddles_closed": [0, 4]}},
        ["riddles_closed"],
        "only 2 of the task's 500",
    ),
    "prefill": ({"limit": 3}, ["riddles_closed_prefill"], "the log of `riddles_closed_prefill` cannot stand for it"),
    "sample data": ({"limit": 3}, ["riddles_sample"], "the log of `riddles_sample` cannot stand for it"),
    "public shots": ({}, ["riddles_closed_shots"], "the log of `riddles_closed_shots` cannot stand for it"),
}


@pytest.mark.parametrize("case", REAL)
def test_what_the_leaderboard_refuses_is_seen_in_real_logs(case, data, mera_ru, tmp_path):
    settings, tasks, message = REAL[case]
    run(tmp_path / "results", tasks, answer, data=data, **settings)
    outcome = mera_ru("submit", tmp_path / "results", "--data", data)
    assert outcome.status == 1 and message in outcome.out
