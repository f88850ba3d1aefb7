"""Runs that the leaderboard would not accept are refused with the reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.issues import errors
from mera_ru_tasks.logs.find import find_logs
from mera_ru_tasks.submission.pack import prepare
from tests.support.archives import answer, edit_results, first_problem, ids_of, move_to_other_run, only_id, rewrite
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


def half_a_character(row):
    return {**row, "resps": [["\ud83d"]], "filtered_resps": ["\ud83d"]}


def with_inputs(row):
    row["doc"]["inputs"]["question"] += "!"
    return row


# The change to the logs, the code of the issue, its task and texts, and whether --partial packs the rest.
ISSUES: dict[str, tuple[Callable[[Path], Any], str, str, tuple[str, ...], bool]] = {
    "a task without a log": (
        lambda logs: next(logs.rglob("samples_russian*")).unlink(),
        "missing-task", "russian_regions", ("RussianRegions.json", "--tasks russian_regions --log"), True,
    ),
    "a prefilled task instead": (
        lambda logs: rename_task(logs, "enantiosemy", "enantiosemy_prefill"),
        "missing-task", "enantiosemy", ("Enantiosemy.json", "`enantiosemy_prefill`", "prefilled"), True,
    ),
    "a sample task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_sample"),
        "missing-task", "riddles_closed", ("`riddles_sample`", "sample data"), True,
    ),
    "a shots task instead": (
        lambda logs: rename_task(logs, "riddles_closed", "riddles_closed_shots"),
        "missing-task", "riddles_closed", ("`riddles_closed_shots`", "shots"), True,
    ),
    "a missing id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: None)),
        "missing-ids", "riddles_closed", ("samples_riddles_closed_", "id 12.", "1 of the 500 rows"), True,
    ),
    "many missing ids": (
        lambda logs: rewrite(logs, "enantiosemy", lambda row: row if row["doc_id"] % 2 and row["doc_id"] > 9 else None),
        "missing-ids", "enantiosemy", ("ids 1 to 11, 13, 15, 17", "and 238 more", "258 of the 506 rows"), True,
    ),
    "documents not run": (
        lambda logs: edit_results(logs, lambda results: results["n-samples"]["enantiosemy"].update(original=507)),
        "limited-run", "enantiosemy", ("only 506", "507 documents", "--samples"), True,
    ),
    "a limit": (
        lambda logs: edit_results(logs, lambda all: (all.pop("n-samples"), all["config"].update(limit=9.0))),
        "limited-run", "enantiosemy", ("--limit 9.0",), True,
    ),
    "an id twice": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, lambda row: [row, row])),
        "repeated-lines", "riddles_closed", ("samples_riddles_closed_", "1 line "), False,
    ),
    "a foreign id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id(9012))),
        "foreign-ids", "riddles_closed", ("/Riddles/test.json does not contain id 9012", "--data"), False,
    ),
    "a document without id": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_id("12"))),
        "broken-lines", "riddles_closed", ("line 12", "`meta`"), False,
    ),
    "another question": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, with_inputs)),
        "other-questions", "riddles_closed", ("test.json for id 12.",), False,
    ),
    "no lines of a filter of ours": (
        lambda logs: rewrite(logs, "riddles_closed", lambda row: {**row, "filter": "none"}),
        "missing-filter", "riddles_closed", ("`strict-match`",), False,
    ),
    "half a character": (
        lambda logs: rewrite(logs, "riddles_closed", only_id(12, half_a_character)),
        "lone-surrogate", "riddles_closed", ("id 12",), False,
    ),
    "no results file": (
        lambda logs: next(logs.rglob("results_*")).unlink(),
        "missing-results", "enantiosemy", ("results_",), False,
    ),
    "shots": (
        lambda logs: edit_results(logs, lambda results: results["n-shot"].update(russian_regions=3)),
        "few-shot", "russian_regions", ("results_", "is 3", "--num_fewshot"), False,
    ),
    "sampled answers": (
        lambda logs: rewrite(logs, "enantiosemy", sampled),
        "sampled", "enantiosemy", ("ids 1 to 506 were sampled (do_sample=True)", "--gen_kwargs"), False,
    ),
    "a temperature": (
        lambda logs: rewrite(logs, "enantiosemy", only_id(3, warm)),
        "sampled", "enantiosemy", ("id 3 were sampled (temperature=0.3)",), False,
    ),
    "other generation settings": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(gen_kwargs={"max_gen_toks": 9})),
        "other-setting", "riddles_closed", ("--gen_kwargs is {'max_gen_toks': 9}, but not set in enantiosemy",), False,
    ),
    "another chat template": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(chat_template="{{ x }}")),
        "other-setting", "riddles_closed", ("--apply_chat_template is '{{ x }}'",), False,
    ),
    "a system instruction": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(system_instruction="Думай.")),
        "other-setting", "riddles_closed", ("--system_instruction is 'Думай.'",), False,
    ),
    "another revision of the model": (
        lambda logs: move_to_other_run(
            logs, lambda results: results["config"].update(model_args="pretrained=org/scripted,revision=b")
        ),
        "other-setting", "riddles_closed", ("--model_args revision is 'b'",), False,
    ),
    "another backend": (
        lambda logs: move_to_other_run(logs, lambda results: results["config"].update(model="vllm")),
        "other-setting", "riddles_closed", ("--model is 'vllm', but 'ScriptedModel'",), False,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ISSUES)
def test_an_unfit_run_is_refused_and_an_incomplete_one_packed_only_with_partial(case, logs, data, mera_ru, tmp_path):
    change, code, task, words, is_partial = ISSUES[case]
    change(logs)
    draft = prepare(find_logs([logs]), data=data)
    found = [issue for issue in errors(draft.issues) if issue.code == code and issue.location.startswith(f"{task}: ")]
    assert found and all(word in str(found[0]) for word in words), draft.issues
    assert is_only_incomplete(draft) == is_partial
    outcome = mera_ru("submit", logs, "--data", data, "--partial")
    assert outcome.status == (0 if is_partial else 1) and str(found[0]) in outcome.out
    assert (tmp_path / "submission.zip").exists() == is_partial
    if is_partial:
        whole = case in ("documents not run", "a limit")  # in these cases only the results show it
        assert (first_problem(tmp_path / "submission.zip", ids_of(data)) == "") == whole


def is_only_incomplete(draft) -> bool:
    return bool(draft.stopped_by(partial=False)) and not draft.stopped_by(partial=True)


def test_without_partial_an_incomplete_run_is_not_packed(logs, data, mera_ru, tmp_path):
    next(logs.rglob("samples_russian*")).unlink()
    outcome = mera_ru("submit", logs, "--data", data)
    assert outcome.status == 1 and "add --partial" in outcome.out and not (tmp_path / "submission.zip").exists()


ERRORS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a cut log": (
        lambda logs: (file := next(logs.rglob("samples_riddles*"))).write_bytes(file.read_bytes()[:-100]),
        "The last line is truncated",
    ),
    "a cut results file": (
        lambda logs: (file := next(logs.rglob("results_*"))).write_bytes(file.read_bytes()[:-100]), "is not valid JSON",
    ),
    "several models": (
        lambda logs: move_to_other_run(logs, lambda results: results.update(model_name="org/other")),
        "The logs belong to several models: 'org/other', 'org/scripted'",
    ),
    "no log": (lambda logs: [file.unlink() for file in logs.rglob("samples_*")], "lm-eval ran without --log_samples"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_logs_that_cannot_be_read_are_an_error(case, logs, mera_ru, tmp_path):
    ERRORS[case][0](logs)
    outcome = mera_ru("submit", logs)
    assert outcome.status == 1 and ERRORS[case][1] in outcome.out + outcome.err and "Traceback" not in outcome.err
    assert not (tmp_path / "submission.zip").exists()


REAL = {
    "limit": ({"limit": 3}, ["riddles_closed"], "the run used --limit 3"),
    "shots": ({"num_fewshot": 1, "limit": 3}, ["riddles_closed"], "`n-shot` is 1, not 0"),
    "sampling": (
        {"gen_kwargs": "do_sample=true,temperature=0.5", "limit": 3},
        ["riddles_closed"],
        "ids 1 to 3 were sampled (do_sample=True)",
    ),
    "samples": (
        {"samples": {"riddles_closed": [0, 4]}},
        ["riddles_closed"],
        "only 2 of the task's 500",
    ),
    "prefill": ({"limit": 3}, ["riddles_closed_prefill"], "the log of `riddles_closed_prefill` cannot replace it"),
    "sample data": ({"limit": 3}, ["riddles_sample"], "the log of `riddles_sample` cannot replace it"),
    "public shots": ({}, ["riddles_closed_shots"], "the log of `riddles_closed_shots` cannot replace it"),
}


@pytest.mark.parametrize("case", REAL)
def test_what_the_leaderboard_refuses_is_seen_in_real_logs(case, data, mera_ru, tmp_path):
    settings, tasks, message = REAL[case]
    run(tmp_path / "results", tasks, answer, data=data, **settings)
    outcome = mera_ru("submit", tmp_path / "results", "--data", data)
    assert outcome.status == 1 and message in outcome.out
