"""Published scores are compared with runs: unpaired and marked. Every error in the file is named."""

import json

import pytest
from statsmodels.stats.proportion import confint_proportions_2indep

from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.stats import NEWCOMBE
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.comparisons import MIDDLE, TASK, WEAK, row_of
from tests.support.scripted import reference, run

HEAD = "model,task,metric,score,n\n"


@pytest.fixture
def csv_file(tmp_path):
    def write(text):
        file = tmp_path / "board.csv"
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_published_score_is_an_unpaired_row(results, csv_file):
    file = csv_file(HEAD + "board/gpt,riddles_sample,exact_match,0.5,60\n")
    comparison = compare_runs([results / "org__weak-160m"], published=[file])
    label = "board/gpt (published)"
    assert comparison.models == [WEAK, label]
    row = row_of(comparison, "riddles_sample", label)
    right = round(row_of(comparison, "riddles_sample", WEAK).score.value * 60)
    expected = confint_proportions_2indep(30, 60, right, 60, method="newcomb", compare="diff")
    found = row.difference
    assert (found.estimate.low, found.estimate.high) == pytest.approx(expected)
    assert (found.method, found.won, row.chance) == (NEWCOMBE, None, 0)
    assert [one.code for one in row.notes] == ["unpaired"]


def test_published_scores_of_clustered_documents_count_as_dependent(tmp_path, csv_file):
    run(
        tmp_path,
        [TASK],
        lambda doc, prompt: reference(doc) if doc["meta"]["group_id"] % 2 else "Ответ: нет",
        model=MIDDLE,
    )
    file = csv_file(HEAD + f"board/gpt,{TASK},exact_match,0.5,60\n")
    comparison = compare_runs([tmp_path], published=[file])
    mine, published = (row_of(comparison, TASK, model).score for model in (MIDDLE, "board/gpt (published)"))
    assert mine.effective < 60
    assert published.effective == pytest.approx(mine.effective)


def test_a_published_model_with_all_tasks_has_a_mean_and_can_be_the_baseline(results, csv_file, mera_ru):
    tasks = ("enantiosemy_sample", "riddles_sample", TASK)
    file = csv_file(HEAD + "".join(f"gpt,{task},exact_match,0.3,60\n" for task in tasks))
    outcome = mera_ru(
        "compare", results / "org__weak-160m", "--published", file, "--baseline", "gpt", "--format", "json"
    )
    data = json.loads(outcome.out)
    [mean] = [row for row in data["means"] if (row["model"], row["filter"]) == (WEAK, STRICT)]
    assert data["baseline"] == "gpt (published)"
    assert mean["difference"]["method"] == NEWCOMBE
    found = mean["difference"]
    assert (found["p"] < 0.05) == (found["low"] > 0 or found["high"] < 0)


def test_published_judge_scores_are_shown_and_not_compared(results, csv_file):
    file = csv_file(HEAD + "gpt,riddles_sample,judge_score,0.5,60\n")
    [row] = [row for row in compare_runs([results], published=[file]).rows if row.metric == "judge_score"]
    assert (row.score.value, row.difference) == (0.5, None)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("model,task,metric,score\n", "column n"),
        ("", "column model"),
        (HEAD + "gpt,ridles_sample,exact_match,0.5,60\n", "Did you mean 'riddles_sample'"),
        (HEAD + "gpt,riddles_sample,exact,0.5,60\n", "exact_match"),
        (HEAD + "gpt,riddles_sample,exact_match,50,60\n", "line 2: the score 50"),
        (HEAD + "gpt,riddles_sample,exact_match,nan,60\n", "line 2: the score nan"),
        (HEAD + "gpt,riddles_sample,exact_match,many,60\n", "line 2"),
        (HEAD + "gpt,riddles_sample,exact_match,0.5,0\n", "line 2: n must"),
        (HEAD + "gpt,riddles_sample,exact_match\n", "line 2"),
        (HEAD + ",riddles_sample,exact_match,0.5,60\n", "line 2: the column model"),
        (HEAD + "gpt,riddles_sample,exact_match,0.5,60\n" * 2, "line 3: gpt already has a score"),
        (HEAD.replace("n\n", "n,filter\n") + "gpt,riddles_sample,f1,0.5,60,strict-match\n", "no filter"),
    ],
)
def test_mistakes_in_a_file_name_the_line(results, csv_file, mera_ru, text, named):
    outcome = mera_ru("compare", results, "--published", csv_file(text))
    assert (outcome.status, outcome.out) == (1, "")
    assert named in outcome.err
