"""`mera-ru score` computes the scores of the harness from its logs alone."""

from __future__ import annotations

import json
import math
import os

import pytest
from typer.testing import CliRunner

from mera_ru_tasks.cli import app
from mera_ru_tasks.issues import DataError, OutputError, RunError
from mera_ru_tasks.logs.find import find_logs
from mera_ru_tasks.logs.reader import ANSWERS, read_log
from mera_ru_tasks.logs.rescore import check_responses
from tests.support.scripted import numbers, reference, run
from tests.support.synthetic import write_data, write_json

TASKS = ["enantiosemy", "riddles_closed", "russian_regions"]


def answer(doc, prompt):
    """Every second answer is correct, in the required format and in others."""
    right = reference(doc)
    forms = [right, right.lower(), f"<think>Хм</think>**{right}**", "Ответ: не знаю", ""]
    return forms[doc["meta"]["id"] % len(forms)]


def score(*arguments):
    return CliRunner().invoke(app, ["score", *map(str, arguments)], catch_exceptions=True)


def scored_results(output):
    (file,) = output.rglob("scored_results_*.json")
    return json.loads(file.read_text("utf-8"))


@pytest.mark.parametrize("tasks", [TASKS, [f"{TASKS[0]}_prefill", "riddles_closed_prefill"]], ids=["plain", "prefill"])
def test_the_same_numbers_as_the_harness(tmp_path, tasks):
    data, output = write_data(tmp_path / "data", rows_per_type=10), tmp_path / "results"

    def continued(doc, prompt):
        text = answer(doc, prompt)
        return text.removeprefix("Ответ:") if "prefill" in tasks[0] else text

    results = run(output, tasks, continued, data=data)
    before = {file: file.read_bytes() for file in output.rglob("*") if file.is_file()}
    called = score(output)
    assert called.exit_code == 0, called.output
    for task in tasks:
        assert numbers(scored_results(output), task) == pytest.approx(numbers(results, task))
    assert all(file.read_bytes() == content for file, content in before.items())
    again = {file.name: file.read_bytes() for file in output.rglob("*") if file.is_file()}
    score(output)
    assert {file.name: file.read_bytes() for file in output.rglob("*") if file.is_file()} == again


def test_a_limited_run_without_a_whole_group_is_not_taken_for_a_damaged_one(tmp_path):
    results = run(tmp_path / "results", ["russian_regions"], data=write_data(tmp_path / "data"), limit=4)
    assert math.isnan(results["results"]["russian_regions"]["group_exact_match,strict-match"])
    called = score(tmp_path / "results")
    assert called.exit_code == 0, called.output
    assert scored_results(tmp_path / "results")["results"]["russian_regions"]["exact_match,strict-match"] == 1.0


def test_the_groups_mean_too(tmp_path):
    results = run(tmp_path / "results", ["mera_ru_sample", "riddles_open_sample"], answer)
    called = score(tmp_path / "results")
    name = "exact_match,strict-match"
    mean = scored_results(tmp_path / "results")["results"]["mera_ru_sample"][name]
    assert mean == pytest.approx(results["results"]["mera_ru_sample"][name]) and 0 < mean < 1
    assert "|mera_ru_sample " in called.output


@pytest.mark.parametrize("settings", [{}, {"predict_only": True}])
def test_answers_that_arrive_later(tmp_path, settings):
    closed = write_data(tmp_path / "closed", rows_per_type=10, answers=False)
    answered = write_data(tmp_path / "answered", rows_per_type=10)
    expected = run(None, TASKS, lambda doc, prompt: "Ответ: А", data=answered)
    output = tmp_path / "results"
    run(output, TASKS, lambda doc, prompt: "Ответ: А", data=closed, **settings)
    without = score(output)
    assert isinstance(without.exception, DataError) and "--data DIR" in str(without.exception)
    assert not list(output.rglob("scored_*")), "nothing is written without a score"
    called = score(output, "--data", answered)
    assert called.exit_code == 0, called.output
    for task in TASKS:
        assert numbers(scored_results(output), task) == pytest.approx(numbers(expected, task))
    assert not list(output.rglob("*.before-*")), "answers add scores and remove none"


def test_some_answers_are_missing(tmp_path):
    data, output = write_data(tmp_path / "data", rows_per_type=4), tmp_path / "results"
    file = data / "Riddles" / "test.json"
    rows = json.loads(file.read_text("utf-8"))["data"]
    write_json(file, {"data": [{**row, "outputs": "" if row["meta"]["id"] == 2 else row["outputs"]} for row in rows]})
    run(output, ["riddles_closed"], data=data)
    called = score(output)
    assert called.exit_code == 0
    assert "riddles_closed: 1 document has no reference answer" in called.output
    assert scored_results(output)["results"]["riddles_closed"]["exact_match,strict-match"] == 1.0


def test_data_named_for_the_shipped_data(tmp_path):
    run(tmp_path / "results", ["riddles_sample"], limit=2)
    called = score(tmp_path / "results", "--data", tmp_path)
    assert called.exit_code == 0 and "--data is not used for riddles_sample" in called.output
    absent = score(tmp_path / "results", "--data", tmp_path / "absent")
    assert absent.exit_code == 2 and "--data" in absent.output


def test_a_folder_that_is_closed_is_named_before_the_work(tmp_path, monkeypatch):
    run(tmp_path / "results", ["riddles_sample"], limit=1)
    # Tests may run as root, which has all permissions.
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    assert isinstance(score(tmp_path / "results").exception, OutputError)


def test_other_data_are_refused(tmp_path):
    data = write_data(tmp_path / "data", rows_per_type=4)
    run(tmp_path / "results", ["riddles_closed"], data=data)
    other = write_data(tmp_path / "other", rows_per_type=4, seed=1)
    assert isinstance(score(tmp_path / "results", "--data", other).exception, DataError)
    folder = write_data(tmp_path / "short", rows_per_type=4) / "Riddles"
    rows = json.loads((folder / "test.json").read_text("utf-8"))["data"]
    write_json(folder / "test.json", {"data": rows[1:]})
    called = score(tmp_path / "results", "--data", tmp_path / "short")
    assert isinstance(called.exception, DataError) and "id 1" in str(called.exception)


def test_other_instructions_and_forms_of_answer_are_other_questions(tmp_path):
    data = write_data(tmp_path / "data", rows_per_type=2)
    run(tmp_path / "results", ["enantiosemy"], data=data)
    file = next((write_data(tmp_path / "other", rows_per_type=2) / "Enantiosemy").glob("test.json"))
    rows = json.loads(file.read_text("utf-8"))["data"]
    rows[0]["instruction"] = "Отметьте неподходящее: {text}"
    write_json(file, {"data": rows})
    called = score(tmp_path / "results", "--data", tmp_path / "other")
    assert isinstance(called.exception, DataError) and "belongs to a different document" in str(called.exception)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("meta", None),
        ("answer_format", {}),
        ("outputs", 5),
        ("answer_format", {"choices": [], "max_choices": 1, "with_phrase": False}),
    ],
    ids=str,
)
def test_a_document_of_another_form_is_named(tmp_path, field, value):
    run(tmp_path, ["riddles_sample"])
    (file,) = tmp_path.rglob("samples_*.jsonl")
    lines = file.read_text("utf-8").split("\n")
    row = json.loads(lines[2])
    row["doc"][field] = value
    lines[2] = json.dumps(row)
    file.write_text("\n".join(lines), "utf-8")
    called = score(tmp_path)
    assert f"line 3: the document's field `{field}`" in called.stderr
    assert "riddles_sample (incomplete log)" in called.stdout


def test_other_tasks_logs_are_refused(tmp_path):
    file = tmp_path / "samples_gsm8k_2024-01-01T00-00-00.jsonl"
    row = {"doc_id": 0, "doc": {}, "filter": "x", "metrics": [], "doc_hash": "", "prompt_hash": ""}
    row |= {"arguments": {"gen_args_0": {"arg_0": "?", "arg_1": {}}}, "resps": [["1"]], "filtered_resps": ["1"]}
    file.write_text(json.dumps(row) + "\n", encoding="utf-8")
    assert isinstance(score(tmp_path).exception, RunError)


@pytest.mark.parametrize("task", ["riddles_closed", "russian_regions_prefill"])
def test_a_log_that_is_the_runs_own_needs_no_scoring_again(tmp_path, task):
    run(tmp_path, [task], answer, data=write_data(tmp_path / "data", rows_per_type=10))
    [log] = find_logs([tmp_path])

    def found():
        [log] = find_logs([tmp_path])
        samples, check = read_log(log)
        return check.as_scored, [issue.code for issue in check_responses(log, samples, check)]

    assert found() == (True, [])
    whole, results = log.file.read_bytes(), log.run.results_file.read_bytes()
    rows = [json.loads(line) for line in whole.splitlines()]
    right, wrong = (next(row for row in rows if row["exact_match"] == one) for one in (1, 0))
    right["exact_match"], wrong["exact_match"] = 0, 1  # the mean does not change
    log.file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert found() == (False, ["response-contradicts-score"])
    # A log of an older version of this package has no digest.
    content = json.loads(results)
    del content["configs"][task]["metadata"][ANSWERS]
    log.run.results_file.write_text(json.dumps(content), "utf-8")
    assert found() == (False, ["response-contradicts-score"])
    log.file.write_bytes(whole)
    assert found() == (False, [])
