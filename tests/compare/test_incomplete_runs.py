"""Issues in runs are reported, and everything else is shown. Scores computed after the run are used."""

import json

import pytest

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.notes import joined
from mera_ru_tasks.scoring.metrics import FLEXIBLE, NO_WHOLE_GROUP, STRICT
from tests.support.comparisons import MIDDLE, TASK, WEAK, edit_json, edit_rows, log_file, results_file, row_of
from tests.support.restate import restate, restate_scores
from tests.support.scripted import run
from tests.support.synthetic import write_data


def codes(issues):
    return {one.code for one in issues}


def reason(comparison):
    """Return the code of the reason why a run has no scores."""
    [unscored] = [one for one in comparison.issues if one.code == "unscored"]
    return dict(unscored.values)["why"].code


def test_a_cut_line_costs_that_line(copied, mera_ru):
    log = log_file(copied, WEAK)
    log.write_bytes(log.read_bytes()[:-300])
    outcome = mera_ru("compare", copied, "--format", "json")
    data = json.loads(outcome.out)
    assert outcome.status == 0
    assert "line 120: not valid JSON" in outcome.err
    assert "The last line is truncated" in outcome.err
    sizes = {
        r["filter"]: r["score"]["n"]
        for r in data["scores"]
        if (r["task"], r["model"], r["metric"]) == (TASK, WEAK, "exact_match")
    }
    assert sorted(sizes.values()) == [59, 60]


def test_without_results_the_numbers_are_the_same_and_what_is_unknown_is_said(copied, mera_ru):
    before = row_of(compare_runs([copied]), TASK, WEAK)
    results_file(copied, WEAK).unlink()
    comparison = compare_runs([copied], baseline=MIDDLE)
    row = row_of(comparison, TASK, WEAK.replace("/", "__"))
    assert row.score == before.score
    assert row.difference is not None
    assert codes(row.notes) == {"unknown-settings", "unverified"}
    assert "no-results" in codes(comparison.issues)


def test_broken_results_leave_the_others(copied, mera_ru):
    results_file(copied, WEAK).write_text("{", encoding="utf-8")
    outcome = mera_ru("compare", copied)
    assert outcome.status == 0
    assert "is not valid JSON" in outcome.err
    assert "middle-1b" in outcome.out
    assert "weak-160m" not in outcome.out


def test_a_predict_only_run_has_no_scores_and_says_so(copied, mera_ru, tmp_path):
    run(copied, ["riddles_sample"], model="org/silent", predict_only=True)
    edit_rows(log_file(copied, "org/silent", "riddles_sample"), lambda row: {**row, "metrics": ["bypass"]})
    report = tmp_path / "report.html"
    outcome = mera_ru("compare", copied, "-o", report)
    assert outcome.status == 0
    assert reason(compare_runs([copied])) == "predict-only"
    assert "org/silent" in report.read_text(encoding="utf-8")


def test_closed_references_give_no_scores(tmp_path, mera_ru):
    data = write_data(tmp_path / "data", rows_per_type=4, answers=False)
    run(tmp_path / "results", ["riddles_closed"], data=data)
    outcome = mera_ru("compare", tmp_path / "results", "--format", "json")
    assert json.loads(outcome.out)["scores"] == []
    comparison = compare_runs([tmp_path / "results"])
    assert reason(comparison) == "no-references"
    assert "limited" not in codes(comparison.issues)


def test_logs_of_an_older_lm_eval_are_named(copied, mera_ru):
    edit_rows(log_file(copied, WEAK), lambda row: {name: value for name, value in row.items() if name != "filter"})
    outcome = mera_ru("compare", copied)
    assert outcome.status == 0
    assert "the field `filter` is missing or does not have the format of lm-eval 0.4.12 or later" in outcome.err
    [broken] = [one for one in compare_runs([copied]).issues if one.code == "broken-lines"]
    assert dict(broken.values)["n"] == "120"


@pytest.mark.parametrize("value", [1.5, "yes", None, [1, 2], float("nan")])
def test_a_score_that_is_none_is_never_counted(copied, value):
    edit_rows(
        log_file(copied, WEAK), lambda row: {**row, "exact_match": value if row["doc_id"] == 0 else row["exact_match"]}
    )
    comparison = compare_runs([copied])
    assert row_of(comparison, TASK, WEAK).score.n == 59
    assert "is not a valid value of the metric `exact_match`" in joined(comparison.issues)


def test_a_verdict_that_is_missing_costs_no_other_score(copied):
    """If one of several processes has no verdict, it reports NaN, so that lm-eval can merge the results."""
    wanted = {"judge_score": float("nan"), "group_judge_score": list(NO_WHOLE_GROUP)}

    def judged(row):
        scores = wanted if row["doc_id"] < 2 else {"judge_score": 1.0, "group_judge_score": row["group_exact_match"]}
        return {**row, **scores, "metrics": [*row["metrics"], *scores]} if row["filter"] == STRICT else row

    log = log_file(copied, WEAK)
    edit_rows(log, judged)
    restate(log.parent)
    comparison = compare_runs([copied])
    assert row_of(comparison, TASK, WEAK).score.n == 60
    assert row_of(comparison, TASK, WEAK, "judge_score").score.n == 58
    assert row_of(comparison, TASK, WEAK, "group_judge_score").score.n == 19


def test_nothing_to_compare_is_an_error(tmp_path, copied, mera_ru):
    assert "does not exist" in mera_ru("compare", tmp_path / "nowhere").err
    for log in copied.glob("*/samples_*.jsonl"):
        log.write_text("{}\n", encoding="utf-8")
    outcome = mera_ru("compare", copied)
    assert outcome.status == 1
    assert "There are no usable scores to compare" in outcome.err


def test_verdicts_beside_the_logs_are_read(copied):
    log = log_file(copied, WEAK, "riddles_sample")
    date = log.stem.rpartition("_")[2]
    lines = [
        {
            "doc_id": n,
            "id": n + 1,
            "filter": STRICT,
            "scores": {"judge_score": n % 3 / 2},
            "source": "asked",
            "reason": f"довод {n}",
        }
        for n in range(59)
    ]
    lines.append({"doc_id": 59, "id": 60, "filter": STRICT, "scores": {}, "source": "failed", "reason": "time-out"})
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    file = log.with_name(f"judged_org_judge_riddles_sample_{date}.jsonl")
    file.write_text(text, encoding="utf-8")
    restate_scores(file, "riddles_sample")
    comparison = compare_runs([copied], baseline=MIDDLE)
    row = row_of(comparison, "riddles_sample", WEAK, "judge_score", "judge org_judge")
    assert row.score.n == 59
    assert row.score.value == pytest.approx(sum(n % 3 / 2 for n in range(59)) / 59)
    assert joined(row.why_not) == f"{MIDDLE} has no such score"
    entry = next(e for e in comparison.entries if (e.task, e.model) == ("riddles_sample", WEAK))
    assert sum(v.score is None for a in entry.answers.values() for v in a.verdicts) == 1


def test_scores_against_answers_that_came_later_replace_the_logs(copied):
    log = log_file(copied, WEAK, "riddles_sample")
    date = log.stem.rpartition("_")[2]
    lines = [
        {"doc_id": n, "id": n + 1, "filter": filter_name, "scores": {"exact_match": 1}}
        for filter_name in (STRICT, FLEXIBLE)
        for n in range(60)
    ]
    file = log.with_name(f"scored_riddles_sample_{date}.jsonl")
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    restate_scores(file, "riddles_sample")
    comparison = compare_runs([copied])
    assert row_of(comparison, "riddles_sample", WEAK).score.value == 1
    found = {one.code: dict(one.values) for one in comparison.issues}
    assert found["rescored"]["task"] == "riddles_sample"
    assert found["rescored"]["differs"].code == "differs"


@pytest.mark.parametrize("kept", [0, 4, 119])
@pytest.mark.parametrize("stated", [False, True])
def test_scores_of_a_file_that_lacks_lines_are_not_mixed_with_the_logs(copied, mera_ru, kept, stated):
    log = log_file(copied, WEAK, "riddles_sample")
    before = compare_runs([copied])
    assert mera_ru("score", log).status == 0
    file = log.with_name(log.name.replace("samples_", "scored_"))
    lines = [
        {**json.loads(line), "scores": {"exact_match": 1}} for line in file.read_text(encoding="utf-8").splitlines()
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines[:kept]), encoding="utf-8")
    if stated:
        restate_scores(file, "riddles_sample")
    comparison = compare_runs([copied])
    for filter_name in (STRICT, FLEXIBLE):
        rows = [row_of(found, "riddles_sample", WEAK, filter_name=filter_name) for found in (before, comparison)]
        assert rows[0].score == rows[1].score
    [found] = [one for one in comparison.issues if one.code == "unused-scores"]
    other = log.name if stated else next(log.parent.glob("scored_results_*")).name
    assert dict(found.values) == {"file": file.name, "other": other}


def test_a_score_that_was_taken_back_is_not_shown(copied, mera_ru):
    log = log_file(copied, WEAK, "riddles_sample")
    assert mera_ru("score", log).status == 0
    file = log.with_name(log.name.replace("samples_", "scored_"))
    edit_rows(file, lambda row: {**row, "scores": {} if row["doc_id"] == 0 else row["scores"]})
    restate_scores(file, "riddles_sample")
    row = row_of(compare_runs([copied]), "riddles_sample", WEAK)
    assert (row.score.n, joined(row.incomplete)) == (59, "59 of 60 documents of riddles_sample")


def test_models_with_the_same_responses_or_one_cache_get_a_note(tmp_path):
    for model in (WEAK, MIDDLE):
        run(tmp_path, ["riddles_sample"], model=model)
        edit_json(results_file(tmp_path, model), lambda content: content["config"].update(use_cache="/tmp/cache"))
    found = {one.code: one for one in compare_runs([tmp_path], baseline=MIDDLE).issues}
    assert found["shared-cache"].location == f"{MIDDLE}, {WEAK}"
    same = found["same-responses"]
    assert (same.location, dict(same.values)) == (f"{MIDDLE}, {WEAK}", {"tasks": "riddles_sample"})
