"""Verdicts as sentences, significance groups, families of comparisons, and their agreement with the intervals."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mera_ru_tasks.compare import verdicts
from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.compare.export import to_data
from mera_ru_tasks.compare.notes import RUSSIAN, joined, sentence
from mera_ru_tasks.compare.results import Family, Pair, Row, conclude
from mera_ru_tasks.compare.stats import mean_estimate, mean_of_differences, paired_difference
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.comparisons import MIDDLE, STRONG_LABEL, WEAK, log_file, skilled
from tests.support.scripted import run

MEASURE = ("task", "exact_match", STRICT)


def pair_of(won, lost, ties, metric="exact_match"):
    values = np.array([1.0] * won + [0.0] * (lost + ties))
    baseline = np.array([0.0] * won + [1.0] * lost + [0.0] * ties)
    return Pair("task", metric, STRICT, "org/a", "org/b", paired_difference(values, baseline))


def concluded(pair, *others, margin=None):
    family = Family("org/b", margin=margin)
    return conclude([], [pair, *others], family).pairs[0]


@pytest.mark.parametrize(
    ("pair", "others", "margin", "code", "model"),
    [
        (pair_of(30, 2, 68), 0, None, verdicts.BETTER, "org/a"),
        (pair_of(2, 30, 68), 0, None, verdicts.BETTER, "org/b"),
        (pair_of(12, 10, 78), 0, None, verdicts.NOT_TOLD_APART, "org/a"),
        (pair_of(12, 10, 78), 0, 0.05, verdicts.NOT_TOLD_APART, "org/a"),
        (pair_of(12, 10, 978), 0, 0.02, verdicts.EQUAL, "org/a"),
        (pair_of(20, 3, 977), 0, 0.05, verdicts.BETTER_BUT_EQUAL, "org/a"),
        (pair_of(16, 5, 79), 0, None, verdicts.BETTER, "org/a"),
        (pair_of(16, 5, 79), 9, None, verdicts.NOT_CORRECTED, "org/a"),
        (pair_of(5, 4, 0), 0, None, verdicts.TOO_FEW, "org/a"),
        (Pair(*MEASURE, "org/a", "org/b", None), 0, None, verdicts.NOT_COMPARED, "org/a"),
    ],
)
def test_verdicts(pair, others, margin, code, model):
    found = concluded(pair, *[pair_of(9, 9, 82)] * others, margin=margin).verdict
    assert (found.code, dict(found.values)["model"]) == (code, model)
    for text in (sentence(found), sentence(found, RUSSIAN)):
        assert "{" not in text
        assert text.endswith(".")


def test_a_verdict_says_the_numbers():
    better = concluded(pair_of(30, 2, 68))
    assert sentence(better.verdict) == "org/a is better than org/b by 28 points [18, 37]."
    told = concluded(pair_of(3, 2, 95))
    assert (
        sentence(told.verdict)
        == "org/a and org/b cannot be told apart (1 point, p = 0.71); this comparison could detect 11 points."
    )


@pytest.mark.parametrize(
    ("pair", "margin", "parts"),
    [
        (pair_of(30, 2, 68), None, ["на 28 п. п. [18; 37]."]),
        (pair_of(3, 2, 95), None, ["(1 п. п., p = 0,71)", "в 11 п. п."]),
        (pair_of(12, 10, 978), 0.025, ["до 2,5 п. п. (0,2 п. п. [−0,8; 1,2])"]),
    ],
)
def test_russian_numbers_have_decimal_commas(pair, margin, parts):
    text = sentence(concluded(pair, margin=margin).verdict, RUSSIAN)
    assert all(part in text for part in parts), text
    assert text.endswith(".") and not text.endswith("..")


def test_names_with_points_stay_as_they_are_in_russian():
    found = concluded(replace(pair_of(30, 2, 68), model="org/a-1.4b, v2.0")).verdict
    assert sentence(found, RUSSIAN).startswith("org/a-1.4b, v2.0 лучше")


def test_the_lower_number_is_better_where_the_metric_says_so():
    values, baseline = np.random.default_rng(1).normal((2, 1.5), 0.2, (100, 2)).T
    pair = Pair("task", "bits_per_byte", "none", "org/a", "org/b", paired_difference(values, baseline, bounded=False))
    found = concluded(pair).verdict
    assert (found.code, dict(found.values)["model"]) == (verdicts.BETTER, "org/b")
    assert dict(found.values)["size"].code == "bits"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ((0.26, 0.23, 0.29), ["26", "23", "29"]),
        ((0.02, 0.004, 0.03), ["2.0", "0.4", "3.0"]),
        ((0.0, -0.02), ["0", "−2"]),
    ],
)
def test_amounts_have_the_decimals_that_tell_them_from_0(values, texts):
    assert verdicts.amounts("exact_match", *values) == texts


def test_no_verdict_disagrees_with_its_interval_on_random_data():
    """Compute the verdicts of 200 comparisons of 10 models on 3 tasks."""
    rng = np.random.default_rng(2)
    codes = set()
    for number in range(200):
        sizes = rng.integers(12, 300, 3)
        skills = rng.random((10, 3)) * rng.choice([0.05, 0.3, 1.0])
        data = [(rng.random(size) < skills[:, task, None]) * 1.0 for task, size in enumerate(sizes)]
        models = [f"m{place}" for place in range(10)]
        family = Family("m0" if number % 2 else None, margin=0.05 if number % 3 else None)
        parts: dict = {}
        for names in family.pairs(models):
            first, second = (models.index(name) for name in names)
            parts[names] = [paired_difference(one[first], one[second]) for one in data]
        for task in (*range(3), "mean"):
            rows, pairs = [], []
            for place, model in enumerate(models):
                score = mean_estimate(data[0 if task == "mean" else task][place])
                rows.append(Row(str(task), "exact_match", STRICT, model, score, None))
            for names, found in parts.items():
                difference = mean_of_differences(found) if task == "mean" else found[task]
                pairs.append(Pair(str(task), "exact_match", STRICT, *names, difference))
            done = conclude(rows, pairs, family)
            groups = {row.model: row.group for row in done.rows}
            for pair in done.pairs:
                codes.add(pair.verdict.code)
                check(pair, groups, family)
    assert codes >= {verdicts.BETTER, verdicts.NOT_CORRECTED, verdicts.NOT_TOLD_APART, verdicts.EQUAL}


def check(pair, groups, family):
    found, code = pair.difference, pair.verdict.code
    excludes = found.estimate.low > 0 or found.estimate.high < 0
    assert excludes == (found.p < 0.05)
    significant = code in (verdicts.BETTER, verdicts.BETTER_BUT_EQUAL)
    assert significant == (pair.p_holm < 0.05)
    assert excludes or not significant
    if code == verdicts.NOT_CORRECTED:
        assert excludes
    if code == verdicts.NOT_TOLD_APART:
        assert not excludes
    inside = family.margin is not None and max(-found.estimate.low, found.estimate.high) < family.margin
    assert inside == (code in (verdicts.EQUAL, verdicts.BETTER_BUT_EQUAL))
    if significant:
        ahead = pair.model if found.estimate.value > 0 else pair.other
        assert dict(pair.verdict.values)["model"] == ahead
    if family.baseline:
        assert set(groups.values()) == {""}
    else:
        assert bool(set(groups[pair.model]) & set(groups[pair.other])) == (not significant)


def test_without_a_baseline_all_pairs_are_compared_and_groups_appear(results):
    comparison = compare_runs([results])
    models = {WEAK, MIDDLE, STRONG_LABEL}
    primary = comparison.primary
    assert primary == [("mean sample", "exact_match", STRICT)]
    own = [pair for pair in comparison.pairs if (pair.task, pair.metric, pair.filter) == primary[0]]
    assert [pair.family for pair in own] == [3, 3, 3]
    assert {frozenset((pair.model, pair.other)) for pair in own} == {frozenset(models - {one}) for one in models}
    groups = {row.model: row.group for row in comparison.means if row.filter == STRICT}
    assert groups == {STRONG_LABEL: "a", MIDDLE: "b", WEAK: "c"}
    [verdict] = comparison.verdicts
    assert [one.code for one in verdict.sentences] == [verdicts.BETTER] * 3


def numbers_of(comparison, models):
    """Return all rows, differences and verdicts of some models. Holm's correction depends on the other models."""
    data = to_data(comparison)
    rows = [row for row in (*data["means"], *data["scores"]) if row["model"] in models]
    pairs = [pair for pair in data["pairs"] if {pair["model"], pair["other"]} <= models]
    sentences = [one for verdict in data["verdicts"] for one in verdict["sentences"]]
    for one in (*rows, *pairs):
        one.pop("group", None)
        one.pop("verdict", None)
        one.pop("sentence", None)
        if one["difference"]:
            one["difference"] = {**one["difference"], "p_holm": None, "comparisons": None}
    return rows, pairs, sentences


@pytest.mark.parametrize(
    ("tasks", "settings", "codes"),
    [
        (["enantiosemy_sample"], {}, {"no-mean": "riddles_sample, russian_regions_sample"}),
        (["riddles_open_sample"], {}, {"no-mean": "enantiosemy_sample, riddles_sample, russian_regions_sample"}),
        (["riddles_sample_prefill"], {}, {"no-mean": "enantiosemy_sample, riddles_sample, russian_regions_sample"}),
        # This model has a mean, but over other documents.
        (["mera_ru_sample"], {"limit": 12}, {verdicts.NOT_COMPARED: None}),
    ],
)
def test_a_model_that_cannot_be_compared_changes_nothing_for_the_others(results, tmp_path, tasks, settings, codes):
    run(tmp_path / "third", tasks, skilled(0.4), model="aaa/third", **settings)
    others = {WEAK, MIDDLE, STRONG_LABEL}
    before, after = compare_runs([results]), compare_runs([tmp_path / "third", results])
    (*numbers, sentences), (*same_numbers, more) = numbers_of(before, others), numbers_of(after, others)
    assert same_numbers == numbers
    assert all(one in more for one in sentences)
    about_third = [one for one in after.verdicts[0].sentences if "aaa/third" in dict(one.values).values()]
    assert {one.code: dict(one.values).get("tasks") for one in about_third} == codes
    assert {row.baseline for row in after.means} == {before.means[0].baseline}
    third = [row for row in after.means if row.model == "aaa/third"]
    assert all(row.why_not and row.pair.other == row.baseline for row in third)


def test_a_model_before_the_baseline_is_not_compared_with_it_for_its_own_reasons(results, tmp_path):
    run(tmp_path / "third", ["riddles_sample"], skilled(0.4), model="aaa/third", limit=12)
    logs = [log_file(results, model, "riddles_sample") for model in (WEAK, MIDDLE)]
    rows = [row for row in compare_runs([tmp_path / "third", *logs]).rows if row.metric == "exact_match"]
    assert {row.baseline for row in rows} == {WEAK}
    [found] = {row.why_not for row in rows if row.model == "aaa/third"}
    assert joined(found) == "the documents: 12 (--limit 12) against 60, 12 in common"


def test_with_a_baseline_the_others_are_compared_with_it(results):
    comparison = compare_runs([results], baseline=WEAK)
    assert {pair.other for pair in comparison.pairs} == {WEAK}
    assert {pair.family for pair in comparison.pairs if pair.difference} == {2}
    assert {row.group for row in (*comparison.rows, *comparison.means)} == {""}
    assert [dict(one.values)["other"] for one in comparison.verdicts[0].sentences] == [WEAK, WEAK]


def test_where_there_is_no_mean_each_task_has_its_primary_measure(results):
    logs = [log_file(results, model, "riddles_sample") for model in (WEAK, MIDDLE)]
    comparison = compare_runs([*logs, log_file(results, WEAK)])
    assert comparison.primary == [
        ("riddles_sample", "exact_match", STRICT),
        ("russian_regions_sample", "exact_match", STRICT),
    ]


def test_a_score_that_is_not_above_chance_is_said(tmp_path):
    run(tmp_path, ["enantiosemy_sample"], lambda doc, prompt: "Не знаю.", model=WEAK)
    comparison = compare_runs([tmp_path])
    [row] = [row for row in comparison.rows if (row.metric, row.filter) == ("exact_match", STRICT)]
    assert row.above_chance is False
    assert [one.code for one in comparison.verdicts[0].sentences] == ["not-above-chance"]


@pytest.mark.parametrize(("limit", "codes"), [(9, []), (10, ["not-above-chance"])])
def test_few_documents_have_a_score_and_no_verdict(tmp_path, mera_ru, limit, codes):
    run(tmp_path, ["enantiosemy_sample"], lambda doc, prompt: "Не знаю.", model=WEAK, limit=limit)
    data = json.loads(mera_ru("compare", tmp_path, "--format", "json").out)
    assert [one["code"] for verdict in data["verdicts"] for one in verdict["sentences"]] == codes
    [row] = [row for row in data["scores"] if (row["metric"], row["filter"]) == ("exact_match", STRICT)]
    assert (row["score"]["value"], row["score"]["n"]) == (0, limit)
    assert (row["score"]["low"] is None, row["above_chance"]) == ((False, False) if codes else (True, None))
    for form in ("table", "csv", "markdown", "latex"):
        assert mera_ru("compare", tmp_path, "--format", form).status == 0


def test_a_model_that_is_not_compared_with_all_others_is_in_no_group(copied):
    log = log_file(copied, WEAK, "riddles_sample")
    log.write_text("".join(log.read_text(encoding="utf-8").splitlines(keepends=True)[:30]), encoding="utf-8")
    rows = [row for row in compare_runs([copied]).rows if (row.task, row.metric) == ("riddles_sample", "exact_match")]
    assert {row.model: row.group for row in rows if row.filter == STRICT}[WEAK] == ""
    assert all(row.group for row in rows if row.model != WEAK)


def test_verdicts_are_in_the_json(results, mera_ru):
    data = json.loads(mera_ru("compare", results, "--format", "json").out)
    [verdict] = data["verdicts"]
    assert (verdict["metric"], len(verdict["sentences"])) == ("exact_match", 3)
    assert {pair["verdict"] for pair in data["pairs"]} <= set(verdicts.CODES)
