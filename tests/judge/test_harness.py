"""The judge in real runs of lm-eval gives the same scores during and after the run."""

from __future__ import annotations

import json
import logging
import math
import pickle
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mera_ru_tasks.cli import app, main
from mera_ru_tasks.harness import filters
from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.run import check
from mera_ru_tasks.scoring import metrics
from tests.support.judge_cases import KEY
from tests.support.judge_stub import StubJudge, hashed_score
from tests.support.scripted import reference, run
from tests.support.synthetic import write_data

pytestmark = pytest.mark.slow

TASKS = ["enantiosemy", "riddles_closed", "russian_regions"]


@pytest.fixture
def data(tmp_path):
    return write_data(tmp_path / "data", rows_per_type=8)


@pytest.fixture
def configure(monkeypatch, tmp_path):
    def configure(stub: StubJudge, **changes: str) -> None:
        check.cache_clear()
        settings = {"API_BASE": stub.url, "MODEL": "org/judge", "API_KEY": KEY, "CACHE": str(tmp_path / "judge.sqlite")}
        for name, value in (settings | changes).items():
            monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", value)

    for name in ("API_BASE", "MODEL", "API_KEY", "CACHE"):
        monkeypatch.delenv(f"LM_EVAL_JUDGE_{name}", raising=False)
    return configure


def answer(doc, prompt):
    """Every third answer is correct and every ninth is empty. The judge decides on the others."""
    number = doc["meta"]["id"]
    if number % 9 == 2:
        return ""
    return reference(doc) if number % 3 == 0 else f"Ответ: затрудняюсь {number}"


def judged_metrics(results, task):
    return {name: value for name, value in results["results"][task].items() if "judge" in name}


def by_hand(results, stub, task):
    """Return the mean verdict and the share of groups whose verdicts are all 1, from the samples and the script."""
    said = {}
    for message in stub.questions:
        answer = message.partition("<<<ОТВЕТ МОДЕЛИ")[2].split("\n")[1]
        task_text = message.partition("<<<ЗАДАНИЕ")[2].partition("<<<КОНЕЦ")[0]
        said[task_text.partition("\n")[2].strip(), answer] = hashed_score(message) / 2
    scores, groups = [], {}
    for sample in results["samples"][task]:
        if sample["filter"] != "strict-match":
            continue
        response = sample["resps"][0][0]
        shown = response.partition("Ответ:")[2].strip()
        if sample["exact_match"]:
            score = 1.0
        elif not shown:
            score = 0.0
        else:
            # A question contains other brackets than the data, so that the data cannot imitate the marks.
            prompt = sample["arguments"]["gen_args_0"]["arg_0"].translate(str.maketrans("<>[]", "‹›()"))
            score = said[prompt.strip(), shown]
        scores.append(score)
        groups.setdefault(sample["doc"]["meta"].get("group_id"), []).append(score == 1)
    return sum(scores) / len(scores), sum(map(all, groups.values())) / len(groups)


@pytest.mark.parametrize(
    "tasks", [TASKS, ["enantiosemy_sample", "riddles_sample", "russian_regions_sample"]], ids=["synthetic", "sample"]
)
def test_the_harness_the_command_and_the_hand_agree(tmp_path, data, configure, tasks):
    output = tmp_path / "results"
    with StubJudge() as stub:
        configure(stub)
        results = run(output, tasks, answer, data=data)
        asked = len(stub.questions)
        # Another cache, so that the command sends its own requests.
        configure(stub, CACHE=str(tmp_path / "second.sqlite"))
        before = {file: file.read_bytes() for file in output.rglob("*.json*")}
        called = CliRunner().invoke(app, ["judge", str(output)])
        assert called.exit_code == 0, called.output
        assert len(stub.questions) == 2 * asked
    assert all(file.read_bytes() == content for file, content in before.items())
    (file,) = output.rglob("judged_results_org_judge_*.json")
    after = json.loads(file.read_text("utf-8"))
    for task in tasks:
        judged = judged_metrics(results, task)
        mean, share = by_hand(results, stub, task)
        assert judged["judge_score,strict-match"] == pytest.approx(mean)
        assert ("group_judge_score,strict-match" in judged) == task.startswith("russian_regions")
        if task.startswith("russian_regions"):
            assert judged["group_judge_score,strict-match"] == pytest.approx(share)
        found = judged_metrics(after, task)
        for name, value in judged.items():
            assert found[name] == value or "stderr" in name, name
        assert f"{mean:.4f}".rstrip("0") in called.output
    assert after["judge"]["model"] == "org/judge"
    assert not any(KEY.encode() in file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    rows = [json.loads(line) for line in next(output.rglob("judged_org_judge_riddles_*.jsonl")).open(encoding="utf-8")]
    assert {row["source"] for row in rows} == {"judge", "exact match", "empty answer"}
    assert {row["reason"] for row in rows if row["source"] == "judge"} == {"так решил судья"}


def test_the_sample_log_keeps_one_row_for_each_document_and_filter(data, configure):
    with StubJudge() as stub:
        configure(stub)
        samples = run(None, ["riddles_closed"], answer, data=data)["samples"]["riddles_closed"]
    assert [sample["filter"] for sample in samples] == ["strict-match"] * 8 + ["flexible-extract"] * 8
    assert all(("judge_score" in sample) == (sample["filter"] == "strict-match") for sample in samples)


def test_without_a_judge_there_is_no_row_and_no_warning(data, configure, caplog):
    with caplog.at_level(logging.WARNING):
        results = run(None, TASKS, answer, data=data)
    assert not any(judged_metrics(results, task) for task in TASKS)
    assert "judge" not in caplog.text and "not scored on the same number" not in caplog.text


@pytest.mark.parametrize("settings", [{"predict_only": True}, {}], ids=["predict_only", "closed answers"])
def test_nothing_is_asked_where_nothing_is_scored(tmp_path, configure, settings):
    data = write_data(tmp_path / "data", rows_per_type=4, answers=bool(settings))
    with StubJudge() as stub:
        configure(stub)
        results = run(tmp_path / "results", TASKS, answer, data=data, **settings)
    assert stub.messages == []
    assert all(len(results["samples"][task]) > 0 for task in TASKS)
    assert not any(
        "judge" in name or "match" in name.split(",")[0] for task in TASKS for name in results["results"][task]
    )


@pytest.mark.parametrize("fault", ["401", "closed"])
def test_an_unusable_judge_stops_the_run_before_the_model(data, configure, fault):
    def answer(doc, prompt):
        raise AssertionError("the model must not run")

    with StubJudge(faults=lambda message, attempt: fault) as stub:
        configure(stub)
        if fault == "closed":
            stub.stop()
        with pytest.raises(JudgeError, match=r"refuses the key|cannot be reached"):
            run(None, ["riddles_closed"], answer, data=data)


def test_missing_verdicts_lose_no_response_and_no_number(data, configure, caplog):
    """The judge answers every question but one. That document and its group are excluded and reported."""
    one = "Ответ: затрудняюсь 7"

    def faults(message, attempt):
        return "400" if f"\n{one.partition(': ')[2]}\n" in message else None

    with StubJudge(lambda message: 2, faults=faults) as stub, caplog.at_level(logging.WARNING):
        configure(stub, SKIP_EXACT="0")
        results = run(
            None, ["russian_regions"], lambda doc, prompt: f"Ответ: затрудняюсь {doc['meta']['id']}", data=data
        )
    samples = [row for row in results["samples"]["russian_regions"] if row["filter"] == "strict-match"]
    assert [row["doc"]["meta"]["id"] for row in samples if "judge_score" not in row] == [7]
    metrics = judged_metrics(results, "russian_regions")
    assert metrics["judge_score,strict-match"] == metrics["group_judge_score,strict-match"] == 1.0
    assert "1 of 24 documents has no judge verdict" in caplog.text
    assert "1 of 8 groups was scored only partly" in caplog.text


def test_a_judge_that_is_gone_after_the_generation(data, configure, caplog, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.01)
    with StubJudge(faults=lambda message, attempt: None if "Зимой и летом" in message else "reset") as stub:
        configure(stub)
        with caplog.at_level(logging.WARNING):
            results = run(None, ["riddles_closed"], lambda doc, prompt: "Ответ: затрудняюсь", data=data)
    assert not judged_metrics(results, "riddles_closed")
    assert "8 of 8 documents have no judge verdict" in caplog.text
    assert len(results["samples"]["riddles_closed"]) == 16


def test_a_process_without_a_verdict_does_not_lose_the_run_of_all(monkeypatch, configure, tmp_path):
    """lm-eval expects the same metrics from each process, so a process without a verdict reports NaN, not 0."""
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "judge")
    monkeypatch.setenv("LM_EVAL_JUDGE_API_KEY", KEY)
    monkeypatch.setenv("LM_EVAL_JUDGE_CACHE", str(tmp_path / "c"))
    check.cache_clear()
    form = {"choices": "АБВГ", "max_choices": 1, "with_phrase": False}
    doc = {"instruction": "", "inputs": {}, "outputs": "Б", "meta": {"id": 1, "group_id": 0, "group_size": 1}}
    doc["answer_format"] = form
    (response,) = filters.StrictMatch().apply([["Ответ: ?!А"]], [doc])
    scores = filters.process_results(doc, [response])
    assert math.isnan(scores["judge_score"])
    assert math.isnan(metrics.group_mean([scores["group_judge_score"]]))
    assert metrics.group_mean([scores["group_judge_score"], (0, 1, 1)]) == 1.0
    assert math.isnan(metrics.group_mean([scores["group_judge_score"]] * 2)), "two processes without a verdict"


def test_a_response_travels_between_processes_as_a_string():
    response = filters.Response("Ответ: А")
    response.judged = lambda: 1.0
    assert type(pickle.loads(pickle.dumps(response))) is str


def files_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_judging_again_costs_nothing_and_changes_nothing(tmp_path, data, configure):
    output = tmp_path / "results"
    run(output, ["riddles_closed"], answer, data=data)
    with StubJudge() as stub:
        configure(stub)
        CliRunner().invoke(app, ["judge", str(output)])
        files, asked = files_of(output), len(stub.questions)
        called = CliRunner().invoke(app, ["judge", str(output)])
        assert (called.exit_code, len(stub.questions)) == (0, asked)
        assert files_of(output) == files
        configure(stub, MODEL="second")
        CliRunner().invoke(app, ["judge", str(output)])
    assert files.items() < files_of(output).items(), "the files of the other judge are kept"


def test_judging_goes_on_where_it_stopped(tmp_path, data, configure):
    output = tmp_path / "results"
    run(output, ["enantiosemy"], answer, data=data)

    def faults(message, attempt):
        return "400" if hashed_score(message) == 1 and "Зимой и летом" not in message else None

    with StubJudge(faults=faults) as stub:
        configure(stub)
        called = CliRunner().invoke(app, ["judge", str(output)])
        assert called.exit_code == 1, "scripts must see that verdicts are missing"
    with StubJudge() as stub:
        configure(stub)
        called = CliRunner().invoke(app, ["judge", str(output)])
        assert called.exit_code == 0
        assert {hashed_score(message) for message in stub.questions} == {1}
    assert not list(output.rglob("*.before-*"))


def test_other_scores_than_before_are_kept_apart(tmp_path, data, configure):
    output = tmp_path / "results"
    run(output, ["riddles_closed"], answer, data=data)
    for score in (0, 2):
        with StubJudge(lambda message, score=score: score) as stub:
            configure(stub, CACHE=str(tmp_path / f"{score}.sqlite"))
            called = CliRunner().invoke(app, ["judge", str(output)])
    assert "they are kept in" in called.output
    assert len(list(output.rglob("judged_*.before-1.json*"))) == 2


def test_judging_without_a_judge(tmp_path, data, configure, monkeypatch, capsys):
    run(tmp_path / "results", ["riddles_closed"], answer, data=data)
    monkeypatch.setattr("sys.argv", ["mera-ru", "judge", str(tmp_path / "results")])
    with pytest.raises(SystemExit) as exit_status:
        main()
    assert exit_status.value.code == 1
    assert "LM_EVAL_JUDGE_API_BASE" in capsys.readouterr().err
