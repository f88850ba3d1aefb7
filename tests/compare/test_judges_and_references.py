"""Scores from several judges, or with several references, are different measures and are never compared silently."""

import json
import shutil

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.judge.run import check
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.comparisons import edit_json, edit_rows, log_file, results_file, row_of, skilled
from tests.support.judge_cases import KEY
from tests.support.judge_stub import StubJudge
from tests.support.restate import restate_scores
from tests.support.rows import data_folder, riddle
from tests.support.scripted import run

TASK = "riddles_closed"
ONE, TWO = "org/one", "org/two"
IN_THE_RUN, AFTERWARDS = STRICT, "judge org_judge"


@pytest.fixture
def data(tmp_path):
    return data_folder(tmp_path, "riddles", [riddle(number) for number in range(1, 9)])


@pytest.fixture
def judged(monkeypatch, tmp_path):
    """Judge everything that runs with these settings with a judge that always gives `score`."""

    def judged(action, *, score=2, **changes):
        settings = {"MODEL": "org/judge", "API_KEY": KEY, "CACHE": str(tmp_path / f"{score}.sqlite")}
        with StubJudge(score=lambda message: score) as stub, monkeypatch.context() as patch:
            check.cache_clear()
            for name, value in ({"API_BASE": stub.url} | settings | changes).items():
                patch.setenv(f"LM_EVAL_JUDGE_{name}", value)
            return action()

    return judged


@pytest.fixture
def judge(tmp_path, data, judged, mera_ru):
    """Run a model, and judge it during the run or afterwards."""

    def judge(model, filter_name, **settings):
        def runs():
            run(tmp_path / "results", [TASK], lambda doc, prompt: "Ответ: не знаю", data=data, model=model)

        if filter_name == IN_THE_RUN:
            return judged(runs, **settings)
        runs()
        return judged(lambda: mera_ru("judge", log_file(tmp_path / "results", model, TASK)), **settings)

    return judge


@pytest.mark.parametrize("filter_name", [IN_THE_RUN, AFTERWARDS])
@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({}, None),
        ({"CONCURRENCY": "2"}, None),
        ({"MODEL": "org:judge"}, "the judge: org:judge against org/judge"),
        ({"PROMPT": "{{ task }} {{ reference }} {{ answer }}"}, "the judge's prompt: mine-"),
        ({"EXTRA": '{"seed": 1}'}, "the judge's request fields (LM_EVAL_JUDGE_EXTRA): seed ("),
        ({"SKIP_EXACT": "0"}, "exact matches counted without asking the judge: false against true"),
    ],
)
def test_scores_are_compared_only_where_one_judge_gave_them(tmp_path, judge, filter_name, other, reason):
    if "PROMPT" in other:
        file = tmp_path / "mine.jinja"
        file.write_text(other["PROMPT"], encoding="utf-8")
        other = {"PROMPT": str(file)}
    judge(ONE, filter_name)
    judge(TWO, filter_name, score=0, **other)
    results = tmp_path / "results"
    row, asked = (
        row_of(compare_runs([results], baseline=ONE, across_settings=across), TASK, TWO, "judge_score", filter_name)
        for across in (False, True)
    )
    assert asked.difference.estimate.value == -1
    if reason is None:
        assert row.difference == asked.difference
        [named] = row.notes
        assert (named.code, dict(named.values)["judge"]) == ("judged-by", "org/judge")
    else:
        assert row.difference is None
        assert reason in joined(row.why_not)
        assert reason in joined(asked.notes)
    assert not any(KEY.encode() in file.read_bytes() for file in results.rglob("*") if file.is_file())


def forget_in_the_run(folder):
    edit_json(results_file(folder, TWO), lambda content: content["configs"][TASK]["metadata"].pop("mera_ru_judge"))


def lose_results(folder):
    results_file(folder, TWO).rename(folder / "elsewhere.json")


def edit_verdicts(folder, change):
    [file] = folder.glob("org__two/judged_*.jsonl")
    edit_rows(file, change)
    restate_scores(file, TASK)


def forget_the_judge(folder):
    edit_verdicts(folder, lambda row: {name: value for name, value in row.items() if name != "judge"})


def forget_the_prompt(folder):
    edit_verdicts(folder, lambda row: {**row, "judge": {**row["judge"], "prompt_version": None}})


def mix_two_judges(folder):
    """The state after a call with another judge that was killed while it wrote the file."""
    edit_verdicts(folder, lambda row: {**row, "judge": {**row["judge"], "prompt_version": str(row["doc_id"] % 2)}})


@pytest.mark.parametrize(
    ("filter_name", "forget"),
    [
        (IN_THE_RUN, forget_in_the_run),
        (IN_THE_RUN, lose_results),
        (AFTERWARDS, forget_the_judge),
        (AFTERWARDS, forget_the_prompt),
        (AFTERWARDS, mix_two_judges),
    ],
)
def test_scores_of_a_judge_that_is_not_known_are_shown_and_not_compared(tmp_path, judge, filter_name, forget):
    for model in (ONE, TWO):
        judge(model, filter_name)
    forget(tmp_path / "results")
    rows = compare_runs([tmp_path / "results"], baseline=ONE).rows
    [row] = [r for r in rows if (r.metric, r.filter) == ("judge_score", filter_name) and r.model != ONE]
    assert row.score.value == 1
    assert row.difference is None
    assert [(one.code, dict(one.values)) for one in row.why_not] == [("unknown-judge", {"models": row.model})]
    [exact] = [r for r in rows if (r.metric, r.filter) == ("exact_match", STRICT) and r.model != ONE]
    assert exact.difference is not None


def test_the_judge_stands_in_the_results_only_where_there_is_one(tmp_path, data, judge, mera_ru):
    judge(ONE, IN_THE_RUN, EXTRA=json.dumps({"user": KEY}))
    metadata = json.loads(results_file(tmp_path / "results", ONE).read_text(encoding="utf-8"))["configs"][TASK][
        "metadata"
    ]
    named = metadata["mera_ru_judge"]
    assert (named["model"], named["extra"], named["skip_exact"]) == ("org/judge", named["extra"], True)
    assert named["extra"].startswith("user (")
    [row] = [
        row
        for row in json.loads(mera_ru("compare", tmp_path / "results", "--format", "json").out)["scores"]
        if row["metric"] == "judge_score"
    ]
    assert row["judge"] == named
    results = run(None, [TASK], data=data)
    assert "mera_ru_judge" not in results["configs"][TASK]["metadata"]


def test_scores_of_several_judges_have_no_mean(results, tmp_path, judged, mera_ru):
    folder = shutil.copytree(results / "org__weak-160m", tmp_path / "results")
    wanted = ("mean sample", "judge_score", AFTERWARDS)

    def means():
        return [r for r in compare_runs([folder]).means if (r.task, r.metric, r.filter) == wanted]

    judged(lambda: mera_ru("judge", folder))
    assert len(means()) == 1
    [log] = folder.glob("samples_riddles_sample_*.jsonl")
    judged(lambda: mera_ru("judge", log), SKIP_EXACT="0")
    assert means() == []


def test_scores_against_other_references_are_not_compared(tmp_path, data, mera_ru):
    folder = tmp_path / "results"
    for model in (ONE, TWO):
        run(folder, [TASK], lambda doc, prompt: "Ответ: лёд", data=data, model=model)
    corrected = [
        {**riddle(number), "outputs": "лёд" if number > 3 else riddle(number)["outputs"]} for number in range(1, 9)
    ]
    other = data_folder(tmp_path / "corrected", "riddles", corrected)
    assert mera_ru("score", log_file(folder, TWO, TASK), "--data", other).status == 0
    row = row_of(compare_runs([folder], baseline=ONE), TASK, TWO)
    assert row.score.value == 5 / 8
    assert row.difference is None
    reason = "5 of 8 documents are scored against different or unknown references"
    assert reason in joined(row.why_not)
    asked = row_of(compare_runs([folder], baseline=ONE, across_settings=True), TASK, TWO)
    assert reason in joined(asked.notes)
    # Both use the same new references, or one uses the logged references again.
    assert mera_ru("score", log_file(folder, ONE, TASK), "--data", other).status == 0
    assert row_of(compare_runs([folder], baseline=ONE), TASK, TWO).difference.estimate.value == 0
    log = log_file(folder, ONE, TASK)
    file = log.with_name(log.name.replace("samples_", "scored_"))
    edit_rows(file, lambda line: {name: value for name, value in line.items() if name != "reference"})
    restate_scores(file, TASK)
    assert "8 of 8 documents" in joined(row_of(compare_runs([folder], baseline=ONE), TASK, TWO).why_not)


def test_verdicts_against_other_references_are_not_compared(tmp_path, data, judge, judged, mera_ru):
    judge(ONE, AFTERWARDS)
    run(tmp_path / "results", [TASK], lambda doc, prompt: "Ответ: не знаю", data=data, model=TWO)
    other = data_folder(tmp_path / "o", "riddles", [{**riddle(n), "outputs": "лёд"} for n in range(1, 9)])
    judged(lambda: mera_ru("judge", log_file(tmp_path / "results", TWO, TASK), "--data", other), score=0)
    row = row_of(compare_runs([tmp_path / "results"], baseline=ONE), TASK, TWO, "judge_score", AFTERWARDS)
    assert row.difference is None
    assert "8 of 8 documents are scored against different or unknown references" in joined(row.why_not)


def test_scores_made_again_by_the_same_references_are_compared_with_logged_ones(tmp_path, data, mera_ru):
    for model, skill in ((ONE, 0.3), (TWO, 0.9)):
        run(tmp_path / "results", [TASK], skilled(skill), data=data, model=model)
    assert mera_ru("score", log_file(tmp_path / "results", TWO, TASK)).status == 0
    assert row_of(compare_runs([tmp_path / "results"], baseline=ONE), TASK, TWO).difference is not None
