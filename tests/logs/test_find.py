"""Find and read lm-eval's logs, complete and damaged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.loggers import EvaluationTracker

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS, benchmark_of_task
from mera_ru_tasks.issues import RunError
from mera_ru_tasks.logs.find import find_logs, newest
from mera_ru_tasks.logs.reader import Sample, parse_samples, read_log
from mera_ru_tasks.logs.rescore import present_version
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from tests.support.scripted import reference, run
from tests.support.synthetic import write_data

TASKS = ["enantiosemy", "riddles_closed"]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"), rows_per_type=2)


@pytest.fixture(scope="module")
def output(tmp_path_factory, data):
    """Run a model twice, first with predict-only. The model's name is a path that leads out of the folder."""
    output = tmp_path_factory.mktemp("outer") / "results"
    for predict_only in (True, False):
        run(output, TASKS, data=data, model="../..//evil [b]\\name", predict_only=predict_only)
    return output


@pytest.fixture
def copy(output, tmp_path):
    return Path(shutil.copytree(output, tmp_path / "results"))


def names(logs):
    return [log.file.name for log in logs]


def only(folder: Path, pattern: str) -> Path:
    (file,) = folder.rglob(pattern)
    return file


def test_every_way_to_point_at_a_run_finds_its_logs(output):
    (model_folder,) = output.iterdir()
    files = sorted(model_folder.glob("samples_*"))
    logs = find_logs([output])
    assert sorted(names(logs)) == [file.name for file in files] and len(logs) == 4
    assert {log.run.model for log in logs} == {"../..//evil [b]\\name"}
    for paths in ([model_folder], [output.parent], files, sorted(model_folder.glob("results_*")), [output, *files]):
        assert find_logs(paths) == logs


def test_a_log_knows_its_run(output):
    first, second = (log for log in find_logs([output]) if log.task == "enantiosemy")
    assert first.run.date < second.run.date
    assert (second.num_fewshot, second.version, second.size, second.scored) == (0, present_version("enantiosemy"), 8, 8)
    assert second.config["generation_kwargs"]["do_sample"] is False
    assert second.run.config["limit"] is None
    assert second.scores["exact_match,strict-match"] == 1.0
    assert "bypass,strict-match" in first.scores


def test_the_newest_log_of_each_model_and_task_is_kept(output, data, tmp_path):
    other = run(tmp_path, ["riddles_closed"], data=data, model="other")
    assert other["model_name"] == "other"
    logs = find_logs([output, tmp_path])
    kept = newest(logs)
    assert sorted((log.run.model, log.task) for log in kept) == [
        ("../..//evil [b]\\name", "enantiosemy"),
        ("../..//evil [b]\\name", "riddles_closed"),
        ("other", "riddles_closed"),
    ]
    older = [log for log in logs if log not in kept]
    assert len(older) == 2 and all(any(k.task == log.task and k.run.date > log.run.date for k in kept) for log in older)


def test_samples_carry_what_the_run_had(output, data):
    first, second = (log for log in find_logs([output]) if log.task == "enantiosemy")
    samples, check = read_log(second)
    assert (check.issues, check.incomplete, check.contradicted) == ((), frozenset(), frozenset())
    assert [sample.filter for sample in samples] == [STRICT] * 8 + [FLEXIBLE] * 8
    for sample in samples[8:]:
        assert sample.response == reference(sample.doc)
        assert sample.filtered == sample.doc["outputs"]
        assert sample.scores == {"exact_match": 1, "answered": 1, "f1": 1.0}
        assert sample.prompt.startswith(sample.doc["instruction"].split("{text}")[0])
        assert sample.generation["max_gen_toks"] == 1024
    assert all(not sample.scores for sample in read_log(first)[0])


def test_a_file_as_output_path(data, tmp_path):
    run(tmp_path / "mine.json", ["riddles_closed"], data=data, model="org/name")
    (log,) = find_logs([tmp_path])
    assert log.run.results_file.name.startswith("mine_") and log.run.model == "org/name"
    assert find_logs([log.run.results_file]) == [log]


def test_what_this_package_writes_beside_the_logs_is_not_taken_for_them(copy):
    before = find_logs([copy])
    (model_folder,) = copy.iterdir()
    for log in before:
        for prefix in ("judged", "scored"):
            shutil.copy(log.file, model_folder / f"{prefix}_samples_{log.task}_{log.run.date}.jsonl")
            (model_folder / f"{prefix}_results_{log.run.date}.json").write_text("{}")
    assert names(find_logs([copy])) == names(before)
    before[0].run.results_file.unlink()
    assert find_logs([before[0].file])[0].run.results_file is None


def test_without_results_the_folder_names_the_model(copy):
    for file in copy.rglob("results_*"):
        file.unlink()
    log = find_logs([copy])[0]
    assert log.run.model == next(copy.iterdir()).name
    assert (log.num_fewshot, log.size, log.scored, dict(log.config)) == (None, None, None, {})


NOTHING = {
    "no such path": ("nowhere", "nowhere does not exist"),
    "an empty folder": ("empty", "contains nothing"),
    "another folder": (
        "data",
        "contains Enantiosemy, Riddles, RussianRegions. Pass the folder given to lm-eval as --output_path",
    ),
    "a run without samples": ("unlogged", "lm-eval ran without --log_samples"),
    "a results file without samples": (
        "unlogged/m/results_2026-01-02T03-04-05.000006.json",
        "ran without --log_samples",
    ),
    "another file": ("data/Riddles/test.json", "does not have the name of an lm-eval log"),
    "a file of this package": (
        "judged_results_2026-01-02T03-04-05.000006.json",
        "does not have the name of an lm-eval log",
    ),
}


@pytest.mark.parametrize("case", NOTHING)
def test_where_there_is_no_log_the_message_says_what_there_is(case, data, tmp_path):
    path, message = NOTHING[case]
    (tmp_path / "empty").mkdir()
    shutil.copytree(data, tmp_path / "data")
    for name in (
        "unlogged/m/results_2026-01-02T03-04-05.000006.json",
        "judged_results_2026-01-02T03-04-05.000006.json",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")
    with pytest.raises(RunError) as error:
        find_logs([tmp_path / path])
    assert message in str(error.value) and str(tmp_path / path) in str(error.value)


def change(row: dict, **fields) -> bytes:
    return json.dumps({**row, **fields}, ensure_ascii=False).encode()


LINES = {
    "cut": (lambda row: change(row)[:-40], "The last line is truncated"),
    "no JSON": (lambda row: b"oops\n", "not valid JSON"),
    "no UTF-8": (lambda row: change(row)[:-20] + b"\xff\xfe\n", "not valid JSON"),
    "a number too long": (lambda row: b'{"doc_id": ' + b"9" * 5000 + b"}\n", "not valid JSON"),
    "nested too deeply": (lambda row: b"[" * 100_000 + b"\n", "not valid JSON"),
    "no object": (lambda row: b"[1]\n", "not a JSON object"),
    "no doc": (lambda row: change(row, doc="x"), "`doc`"),
    "no doc_id": (lambda row: change(row, doc_id="1"), "`doc_id`"),
    "no filter": (lambda row: change(row, filter=None), "`filter`"),
    "no responses": (lambda row: change(row, resps=[]), "`resps`"),
    "a number as response": (lambda row: change(row, resps=[[7]]), "`resps`"),
    "no extraction": (lambda row: change(row, filtered_resps=None), "`filtered_resps`"),
    "no metrics": (lambda row: change(row, metrics=None), "`metrics`"),
    "no prompt": (lambda row: change(row, arguments={}), "`arguments`"),
    "arguments of an old lm-eval": (lambda row: change(row, arguments=[["x", {}]]), "`arguments`"),
    "no hash": (lambda row: change(row, doc_hash=None), "`doc_hash`"),
}


@pytest.mark.parametrize("case", LINES)
def test_a_broken_line_is_named_by_file_and_number(case, copy):
    log = find_logs([copy])[0]
    line, message = LINES[case]
    lines = log.file.read_bytes().splitlines(keepends=True)
    log.file.write_bytes(b"".join(lines[:2]) + b"\n" + line(json.loads(lines[2])))
    samples, check = read_log(log)
    assert (len(samples), check.incomplete) == (2, {STRICT})
    broken = dict(check.issues[0].values)
    assert (check.issues[0].code, broken["n"]) == ("broken-lines", 1)
    assert f"{log.file.name}, line 4" in broken["error"] and message in broken["error"]


@pytest.mark.parametrize("content", [b'{"results": {', b"[]", b"\xff", b"9" * 5000], ids=str)
def test_a_broken_results_file_is_named(content, copy):
    for file in copy.rglob("results_*"):
        file.write_bytes(content)
    with pytest.raises(RunError, match="results_"):
        find_logs([copy])


def test_an_empty_message_of_an_api_is_an_empty_response(data, tmp_path):
    answers = {1: None, 2: "None", 3: "", 4: " \n"}
    run(tmp_path, ["riddles_closed"], lambda doc, prompt: answers.get(doc["meta"]["id"], "x"), data=write_data(
        tmp_path / "data", rows_per_type=5, benchmarks=(RIDDLES_CLOSED,)))  # fmt: skip
    (log,) = find_logs([tmp_path])
    assert [sample.response for sample in read_log(log)[0]] == ["", "None", "", " \n", "x"] * 2


def test_a_prompt_of_chat_messages_is_their_json(data, tmp_path):
    run(tmp_path, ["riddles_closed"], data=data, apply_chat_template=True, limit=1)
    (log,) = find_logs([tmp_path])
    (line,) = [line for line in log.file.read_bytes().splitlines() if b'"strict-match"' in line]
    row = json.loads(line)
    assert read_log(log)[0][0].prompt == row["arguments"]["gen_args_0"]["arg_0"]
    row["arguments"]["gen_args_0"]["arg_0"] = ['[{"role": "user"}]']  # how lm-eval logs a chat API's prompt
    (sample,) = parse_samples([json.dumps(row).encode()], "x")
    assert sample.prompt == '[{"role": "user"}]'


def logged_by_lm_eval(folder: Path, responses: list[str]) -> list[Sample]:
    """Write responses with lm-eval's own writer and read them back."""
    tracker = EvaluationTracker(output_path=str(folder))
    tracker.general_config_tracker.model_name_sanitized = "m"
    tracker.save_results_aggregated(results={}, samples={})
    rows = [
        {
            "doc_id": number, "doc": {"meta": {"id": number}}, "target": "", "arguments": [("prompt", {})],
            "resps": [[response]], "filtered_resps": [response], "filter": STRICT, "metrics": [],
            "doc_hash": "", "prompt_hash": "", "target_hash": "",
        }
        for number, response in enumerate(responses)
    ]  # fmt: skip
    tracker.save_results_samples(task_name="t", samples=rows)
    (log,) = find_logs([folder])
    with log.file.open("rb") as lines:
        return list(parse_samples(lines, log.file.name))


@given(st.lists(st.text(st.characters(codec="utf-8")), min_size=1))
def test_any_text_comes_back_as_it_was_written(tmp_path_factory, responses):
    samples = logged_by_lm_eval(tmp_path_factory.mktemp("log"), responses)
    assert [sample.response for sample in samples] == responses


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("enantiosemy", (ENANTIOSEMY, ())),
        ("riddles_closed_shots", (RIDDLES_CLOSED, ("shots",))),
        ("riddles_sample_prefill", (RIDDLES_CLOSED, ("sample", "prefill"))),
        ("riddles_open_sample", (RIDDLES_OPEN, ("sample",))),
        ("russian_regions_prefill", (RUSSIAN_REGIONS, ("prefill",))),
        ("riddles", None),
        ("mmlu_prefill", None),
        ("", None),
        ("prefill", None),
    ],
)
def test_a_task_name_is_taken_apart(task, expected):
    assert benchmark_of_task(task) == expected
