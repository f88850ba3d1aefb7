"""The selection of runs and the names of models: one name never silently refers to two models."""

import json
import shutil

import numpy as np
import pytest

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.compare import compare_runs
from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.comparisons import MIDDLE, WEAK, skilled
from tests.support.scripted import run

TASK = "riddles_sample"
MODEL = "org/pythia"


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """Run two checkpoints of one model in one folder, as lm-eval does. The later run has the lower score."""
    folder = tmp_path_factory.mktemp("checkpoints") / "results"
    run(folder, [TASK], skilled(0.8), model=f"{MODEL},revision=step2000")
    run(folder, [TASK], skilled(0.2), model=f"{MODEL},revision=step1000")
    return folder


def logs_of(folder):
    return sorted(folder.glob(f"*/samples_{TASK}_*.jsonl"))


def scores(data):
    return {row["model"]: row["score"]["value"] for row in data["scores"] if row["metric"] == "exact_match"}


def test_another_checkpoint_is_left_out_aloud(checkpoints, mera_ru):
    outcome = mera_ru("compare", checkpoints, "--format", "json")
    assert scores(json.loads(outcome.out)).keys() == {MODEL}
    [other] = [one for one in compare_runs([checkpoints]).issues if one.code == "other-settings"]
    assert (other.location, other.values) == (MODEL, (("settings", "`--model_args revision`"),))
    assert str(other) in outcome.err


def test_names_tell_checkpoints_apart(checkpoints, mera_ru):
    later, earlier = logs_of(checkpoints)
    outcome = mera_ru("compare", f"step 1000={earlier}", f"step 2000={later}", "--format", "json")
    data = json.loads(outcome.out)
    assert {row["baseline"] for row in data["scores"]} == {"step 1000"}
    assert {row["model"] for row in data["scores"] if row["difference"]} == {"step 2000"}
    alone = {name: scores(json.loads(mera_ru("compare", log, "--format", "json").out)) for name, log in
             (("step 1000", earlier), ("step 2000", later))}  # fmt: skip
    assert scores(data) == {name: found[MODEL] for name, found in alone.items()}
    assert scores(data)["step 1000"] < scores(data)["step 2000"]
    assert "other settings" not in outcome.err


def test_a_name_holds_where_a_folder_beside_it_has_the_log_too(checkpoints, mera_ru):
    later, _ = logs_of(checkpoints)
    data = json.loads(mera_ru("compare", checkpoints, f"best={later}", "--format", "json").out)
    assert scores(data).keys() == {MODEL, "best"}
    assert scores(data)["best"] > scores(data)[MODEL]


def test_the_tasks_of_a_mean_under_several_settings_are_reported(checkpoints, tmp_path, mera_ru):
    folder = shutil.copytree(checkpoints, tmp_path / "results")
    run(folder, ["enantiosemy_sample"], model=f"{MODEL},revision=step3000", num_fewshot=2)
    assert "mixed-settings" not in {one.code for one in compare_runs([folder]).issues}, "two tasks have no mean"
    run(folder, ["russian_regions_sample"], model=f"{MODEL},revision=step3000", num_fewshot=2)
    [mixed] = [one for one in compare_runs([folder]).issues if one.code == "mixed-settings"]
    assert (mixed.location, mixed.values) == (MODEL, (("settings", "`--model_args revision`, `--num_fewshot`"),))
    assert str(mixed) in mera_ru("compare", folder).err


def test_tasks_outside_the_mean_may_have_other_settings(tmp_path):
    tasks = ["enantiosemy_sample", "riddles_sample", "russian_regions_sample"]
    run(tmp_path, tasks, model=MODEL, num_fewshot=1)
    run(tmp_path, ["riddles_open_sample"], model=MODEL, num_fewshot=0)
    assert not {"mixed-settings", "other-settings"} & {one.code for one in compare_runs([tmp_path]).issues}


def test_where_and_how_fast_a_model_runs_is_no_setting(tmp_path, mera_ru):
    for devices in (1, 2):
        run(tmp_path, [TASK], model=f"{MODEL},tensor_parallel_size={devices}")
    assert "settings" not in mera_ru("compare", tmp_path).err


@pytest.mark.parametrize(
    ("runs", "status", "message"),
    [
        (["all={results}"], 1, f"matches runs of several models: /models/local/strong-7b, {MIDDLE}, {WEAK}"),
        ([f"{MIDDLE}={{results}}/org__weak-160m", "{results}/org__middle-1b"], 1, f"have the name {MIDDLE!r}"),
        (["a={results}/org__weak-160m", "a={results}/org__middle-1b"], 1, "have the name 'a'"),
        (["a={results}/org__weak-160m", "b={results}/org__weak-160m"], 2, "org__weak-160m has two names, a and b"),
        (
            ["a={results}/org__weak-160m", "b={results}/org__weak-160m/../org__weak-160m"],
            1,
            "has two model names, 'a' and 'b'",
        ),
        (["a={results}/missing"], 1, "/missing does not exist"),
        (["=results"], 1, "=results does not exist"),
    ],
)
def test_a_name_is_of_one_model(results, mera_ru, runs, status, message):
    outcome = mera_ru("compare", *(text.replace("{results}", str(results)) for text in runs))
    assert (outcome.status, outcome.out) == (status, "")
    assert message in outcome.err.replace("\n", " ")


def test_a_folder_with_an_equals_sign_is_a_folder(results, tmp_path, mera_ru, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(results / "org__weak-160m", "lr=3e-4")
    assert compare_runs([tmp_path / "lr=3e-4"]).models == [WEAK]
    outcome = mera_ru("compare", "lr=3e-4", "--format", "json")
    assert [model["label"] for model in json.loads(outcome.out)["models"]] == [WEAK]


def seeded(folder, seeds, *, model="org/sampler", skills=(0.2, 0.5, 0.35), **settings):
    for seed, skill in zip(seeds, skills, strict=False):
        run(folder, [TASK], skilled(skill), model=model, random_seed=seed, numpy_random_seed=seed, **settings)


def strict_row(comparison, model="org/sampler"):
    return next(row for row in comparison.rows if (row.model, row.metric, row.filter) == (model, "exact_match", STRICT))


def test_runs_with_different_sampling_seeds_are_pooled(tmp_path):
    seeded(tmp_path, (1, 2, 3))
    shares = []
    for log in logs_of(tmp_path):
        row = strict_row(compare_runs([log]))
        shares.append(row.score.value)
    comparison = compare_runs([tmp_path])
    row = strict_row(comparison)
    assert row.score.value == pytest.approx(np.mean(shares))
    assert len(comparison.models) == 1
    assert dict(comparison.choices[0].values)["pooled"].code == "pooled"
    # The error includes the variance between runs, so the interval is wider than for one run with the same score.
    newest = strict_row(compare_runs([logs_of(tmp_path)[-1]])).score
    assert row.score.high - row.score.low > newest.high - newest.low
    between = np.var(shares, ddof=1) / 3
    [entry] = comparison.entries
    found = entry.run_variance(("exact_match", STRICT))
    assert (found.variance, found.df) == (pytest.approx(between), 2)


def test_of_runs_with_one_seed_the_newest_counts_unless_pooled(tmp_path):
    seeded(tmp_path, (1, 1))
    one, both = compare_runs([tmp_path]), compare_runs([tmp_path], pool=True)
    newest = strict_row(compare_runs([logs_of(tmp_path)[-1]]))
    assert strict_row(one).score == newest.score
    assert strict_row(both).score.value < newest.score.value
    assert dict(one.choices[0].values)["left"].code == "older"


@pytest.mark.parametrize("settings", [{"limit": 20}, {"num_fewshot": 1}, {"gen_kwargs": "temperature=1"}])
def test_runs_with_different_settings_are_never_pooled(tmp_path, settings):
    seeded(tmp_path, (1,))
    seeded(tmp_path, (2,), **settings)
    for pool in (False, True):
        assert not compare_runs([tmp_path], pool=pool).entries[0].runs


def test_the_difference_of_pooled_runs_holds_the_variance_of_both():
    first, second = stats.RunVariance(0.01, 2), stats.RunVariance(0.04, 4)
    found = first + second
    assert (found.variance, found.df) == (pytest.approx(0.05), int(0.05**2 / (0.01**2 / 2 + 0.04**2 / 4)))
    values, baseline = np.random.default_rng(3).random((2, 200))
    alone = stats.paired_difference(values, baseline)
    pooled = stats.paired_difference(values, baseline, runs=found)
    assert pooled.error**2 == pytest.approx(alone.error**2 + 0.05)
    assert (pooled.p < 0.05) == (pooled.estimate.low > 0 or pooled.estimate.high < 0)
    assert pooled.estimate.high > alone.estimate.high
