"""Runs with different prompts, documents or settings are never compared silently."""

import csv
import io
import json

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.html import build
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.comparisons import MIDDLE, TASK, WEAK, edit_json, edit_rows, log_file, results_file, row_of
from tests.support.rows import data_folder, riddle
from tests.support.scripted import ScriptedModel, reference, run
from tests.support.synthetic import write_data


def limited(folder):
    run(folder, [TASK], model="org/other", limit=12)


def with_shots(folder):
    run(folder, [TASK], model="org/other", num_fewshot=2)


def with_system_instruction(folder):
    run(folder, [TASK], model="org/other", system_instruction="Ты знаток.", apply_chat_template=True)


def of_another_version(folder):
    run(folder, [TASK], model="org/other")
    edit_json(results_file(folder, "org/other"), lambda content: content["versions"].update({TASK: 2.0}))


def with_other_prompts(folder):
    run(folder, [TASK], model="org/other")

    def change(row):
        return {**row, "prompt_hash": "0", "arguments": {"gen_args_0": {"arg_0": "Что?", "arg_1": {}}}}

    edit_rows(log_file(folder, "org/other"), change)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (limited, "the documents: 12 (--limit 12) against 60, 12 in common"),
        (with_shots, "the number of shots: 2 against 0"),
        (with_system_instruction, "the system instruction: Ты знаток. against not set"),
        (of_another_version, "the task's version: 2.0 against 1."),
        (with_other_prompts, "60 of 60 common documents have different prompts"),
    ],
)
def test_unlike_runs_are_not_compared_unless_asked(copied, mera_ru, make, reason):
    make(copied)
    comparison = compare_runs([copied], baseline=WEAK)
    row = row_of(comparison, TASK, "org/other")
    assert row.difference is None
    assert reason in joined(row.why_not)
    assert reason in mera_ru("compare", copied, "--baseline", WEAK).out.replace("\n", " ")
    asked = row_of(compare_runs([copied], baseline=WEAK, across_settings=True), TASK, "org/other")
    assert asked.difference is not None
    assert reason in joined(asked.notes)
    # The other pairs are still compared.
    assert row_of(comparison, TASK, MIDDLE).difference is not None


def test_other_documents_are_never_compared(tmp_path):
    for seed, model in enumerate(("org/one", "org/two")):
        data = write_data(tmp_path / f"data{seed}", rows_per_type=4, seed=seed)
        run(tmp_path / "results", ["riddles_closed"], model=model, data=data)
    row = row_of(compare_runs([tmp_path / "results"], across_settings=True), "riddles_closed", "org/two")
    assert row.difference is None
    assert "no documents in common" in joined(row.why_not)


def test_a_prefilled_run_is_compared_with_a_plain_one_only_when_asked(copied, mera_ru):
    run(copied, [f"{TASK}_prefill"], lambda doc, prompt: reference(doc)[6:], model="org/base")
    apart = compare_runs([copied], baseline=WEAK)
    assert row_of(apart, f"{TASK}_prefill", "org/base").difference is None
    together = compare_runs([copied], baseline=WEAK, across_settings=True)
    row = row_of(together, TASK, "org/base · prefilled")
    assert row.difference.estimate.value > 0
    assert dict(row.notes[0].values)["name"].code == "prompt-end"
    table = mera_ru("compare", copied, "--baseline", WEAK, "--across-settings").out.replace("\n", " ")
    assert f"* org/base · prefilled against org/weak-160m: {row.notes[0].message}" in table


def test_chat_templates_may_differ_and_it_is_said(copied, monkeypatch):
    run(copied, [TASK], model="org/chat-one", apply_chat_template=True)
    monkeypatch.setattr(ScriptedModel, "apply_chat_template", other_template)
    run(copied, [TASK], model="org/chat-two", apply_chat_template=True)
    row = row_of(compare_runs([copied], baseline="org/chat-one"), TASK, "org/chat-two")
    assert row.difference is not None
    assert joined(row.notes) == "the prompts differ only in their chat templates"


def other_template(self, history, add_generation_prompt=True):
    return "".join(f"[{message['role']}]\n{message['content']}\n" for message in history) + "[model]\n"


def with_other_shots(folder):
    shots = [{**riddle(number), "outputs": "снегопад"} for number in range(11, 15)]
    return {"data": data_folder(folder / "other", "riddles", RIDDLES, shots)}


def with_the_same_shots(folder):
    return {"data": data_folder(folder / "same", "riddles", RIDDLES, SHOTS)}


def with_shots_in_one_turn(folder):
    return {**with_the_same_shots(folder), "fewshot_as_multiturn": False}


RIDDLES = [riddle(number) for number in range(1, 9)]
SHOTS = [riddle(number) for number in range(11, 15)]


@pytest.mark.parametrize("templates", ["one", "two"])
@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (with_the_same_shots, ""),
        (with_other_shots, "8 of 8 common documents have different prompts"),
        (with_shots_in_one_turn, "shots as turns of a dialogue (--fewshot_as_multiturn): false against true"),
    ],
)
def test_other_shots_are_other_prompts_whatever_wraps_them(tmp_path, monkeypatch, templates, settings, reason):
    results, task = tmp_path / "results", "riddles_closed"
    given = {"num_fewshot": 2, "apply_chat_template": True, "fewshot_as_multiturn": True}
    run(results, [task], model="org/one", **given, **with_the_same_shots(tmp_path))
    if templates == "two":
        monkeypatch.setattr(ScriptedModel, "apply_chat_template", other_template)
        monkeypatch.setattr(ScriptedModel, "chat_template", lambda self, name: "another")
    run(results, [task], model="org/two", **{**given, **settings(tmp_path / "second")})
    row = row_of(compare_runs([results], baseline="org/one"), task, "org/two")
    if reason:
        assert row.difference is None
        assert reason in joined(row.why_not)
        asked = row_of(compare_runs([results], baseline="org/one", across_settings=True), task, "org/two")
        assert "chat-templates" not in {one.code for one in asked.notes}
    else:
        assert row.difference is not None
        assert ("chat-templates" in {one.code for one in row.notes}) == (templates == "two")


def forget_the_shots(content):
    content["configs"]["riddles_closed"]["metadata"].pop("mera_ru_shots")


def describe(content):
    content["configs"]["riddles_closed"]["description"] = "Отгадайте."


@pytest.mark.parametrize("change", [forget_the_shots, describe])
def test_prompts_are_not_called_the_same_where_that_is_not_sure(tmp_path, monkeypatch, change):
    results, task = tmp_path / "results", "riddles_closed"
    data = with_the_same_shots(tmp_path)
    for model in ("org/one", "org/two"):
        run(results, [task], model=model, num_fewshot=2, apply_chat_template=True, **data)
        monkeypatch.setattr(ScriptedModel, "apply_chat_template", other_template)
    assert row_of(compare_runs([results], baseline="org/one"), task, "org/two").difference is not None
    edit_json(results_file(results, "org/two"), change)
    row = row_of(compare_runs([results], baseline="org/one"), task, "org/two")
    assert joined(row.why_not) == "8 of 8 common documents have different prompts"


def test_scores_of_a_part_of_the_documents_are_marked_wherever_they_are_shown(copied, mera_ru):
    limited(copied)
    log = log_file(copied, WEAK)
    log.write_bytes(log.read_bytes()[:-300])  # the last line, which belongs to flexible-extract
    data = json.loads(mera_ru("compare", copied, "--format", "json").out)
    marked = {
        (row["model"], row["filter"], *row["incomplete"])
        for row in data["scores"]
        if (row["task"], row["metric"]) == (TASK, "exact_match") and row["incomplete"]
    }
    assert marked == {
        ("org/other", STRICT, f"12 of 60 documents of {TASK}"),
        ("org/other", FLEXIBLE, f"12 of 60 documents of {TASK}"),
        (WEAK, FLEXIBLE, f"59 of 60 documents of {TASK}"),
    }
    [mean] = [row for row in data["means"] if (row["model"], row["filter"]) == (WEAK, FLEXIBLE)]
    assert mean["incomplete"] == [f"59 of 60 documents of {TASK}"]
    lines = csv.DictReader(io.StringIO(mera_ru("compare", copied, "--format", "csv").out))
    assert {(WEAK, "score"), (WEAK, "mean"), ("org/other", "score")} == {
        (line["model"], line["kind"]) for line in lines if line["incomplete"]
    }
    for form in ("table", "markdown"):
        shown = mera_ru("compare", copied, "--format", form).out.replace("\\", "")
        assert "12 †" in shown
        assert f"† org/other: 12 of 60 documents of {TASK}." in shown
        assert f"† {MIDDLE}" not in shown


@pytest.mark.parametrize("lacking", [WEAK, MIDDLE])
def test_a_difference_over_a_part_of_what_a_score_is_over_is_marked(copied, mera_ru, lacking):
    log = log_file(copied, lacking)
    log.write_bytes(log.read_bytes()[:-300])  # the last line, which belongs to flexible-extract
    texts = {
        "exact_match": f"the difference in {TASK} covers the 59 documents for which both have a score",
        "group_exact_match": f"the difference in {TASK} covers the 19 groups for which both have a score",
    }
    logs = [log_file(copied, model) for model in (WEAK, MIDDLE)]
    data = json.loads(mera_ru("compare", *logs, "--baseline", WEAK, "--format", "json").out)
    compared = [row for row in data["scores"] if row["model"] == MIDDLE]
    for row in compared:
        wanted = [texts[row["metric"]]] if row["metric"] in texts and row["filter"] == FLEXIBLE else []
        if row["metric"] in texts:
            assert row["notes"] == wanted
    for form in ("table", "markdown"):
        shown = mera_ru("compare", *logs, "--baseline", WEAK, "--format", form).out.replace("\\", "")
        assert all(f"* {MIDDLE} against {WEAK}: {text}." in shown for text in texts.values())
    page = build(compare_runs([copied], baseline=WEAK))
    assert texts["exact_match"] in page
    assert f"разность в {TASK} посчитана по заданиям, для которых балл есть у обеих моделей (59)" in page
    mean = next(r for r in compare_runs([copied], baseline=WEAK).means if (r.model, r.filter) == (MIDDLE, FLEXIBLE))
    assert joined(mean.notes) == texts["exact_match"]
