"""Each statistic against an independent implementation; intervals against the truth of simulated evaluations."""

import math
import tracemalloc

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import ttest_rel
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.bootstrap import bootstrap_error

EVALUATIONS = 2000


@given(st.integers(1, 700).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_statsmodels(counts):
    right, n = counts
    expected = proportion_confint(right, n, alpha=0.05, method="wilson")
    assert stats.wilson(right / n, n) == pytest.approx(expected, abs=1e-9)
    values = np.array([1.0] * right + [0.0] * (n - right))
    found = stats.mean_estimate(values)
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert (found.value, found.n, found.clusters) == (right / n, n, n)


@pytest.mark.parametrize("sizes", [[1] * 30, [3] * 12, [1, 2, 3, 4, 5, 9]])
def test_the_cluster_robust_error_is_that_of_statsmodels(sizes):
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(1).random(len(clusters)) + 0.3 * (clusters % 3)
    ols = sm.OLS(values, np.ones(len(values)))
    expected = ols.fit(cov_type="cluster", cov_kwds={"groups": clusters}).bse[0]
    assert stats.cluster_robust_error(values, clusters) == pytest.approx(expected)


def test_without_clusters_the_error_is_the_usual_one():
    values = np.random.default_rng(2).random(50)
    assert stats.cluster_robust_error(values) == pytest.approx(values.std(ddof=1) / math.sqrt(50))
    assert math.isnan(stats.cluster_robust_error(values, np.zeros(50)))


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (5, 5), (3, 17), (40, 22), (0, 9)])
def test_mcnemar_is_that_of_statsmodels(first, second):
    table = [[100, first], [second, 50]]
    expected = mcnemar(table, exact=True).pvalue if first + second else 1.0
    assert stats.exact_mcnemar(first, second) == pytest.approx(expected)
    values = np.array([1.0] * first + [0.0] * second + [1.0] * 10)
    baseline = np.array([0.0] * first + [1.0] * second + [1.0] * 10)
    found = stats.paired_difference(values, baseline)
    assert (found.p, found.test) == (pytest.approx(expected), stats.MCNEMAR)
    assert found.estimate.value == pytest.approx((first - second) / (first + second + 10))


@pytest.mark.parametrize(
    "ps", [[0.04], [0.01, 0.04, 0.03], [0.5, 0.5, 0.5], [0.001, 0.9, 0.02, 0.02, 0.2], [1.0, 0.0]], ids=str
)
def test_holm_is_that_of_statsmodels(ps):
    assert stats.holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))


def test_holm_of_nothing_is_nothing():
    assert stats.holm([]) == []


@pytest.mark.parametrize(("first", "second"), [((8, 10), (30, 60)), ((0, 12), (12, 12)), ((250, 500), (300, 500))])
def test_the_difference_of_independent_scores_is_newcombes(first, second):
    parts = [stats.mean_estimate(np.array([1.0] * k + [0.0] * (n - k))) for k, n in (first, second)]
    found = stats.combine(parts, [1, -1])
    expected = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_the_bootstraps_error_agrees_with_scipys_and_with_the_cluster_robust_one():
    rng = np.random.default_rng(3)
    sums = rng.normal(0.2, 1.0, 200)
    error = bootstrap_error(sums, np.full(200, 3.0))
    expected = scipy_bootstrap((sums / 3,), np.mean, method="percentile")
    assert error == pytest.approx(expected.standard_error, rel=0.03)
    robust = stats.cluster_robust_error(np.repeat(sums / 3, 3), np.repeat(np.arange(200), 3))
    assert error == pytest.approx(robust, rel=0.03)


@pytest.mark.parametrize("sizes", [1.0, 3.0])
def test_the_bootstraps_error_of_very_many_clusters_takes_no_memory_for_each(sizes):
    sums = np.random.default_rng(4).choice([-1.0, -0.5, 0.0, 0.0, 2 / 3, 1.0], 200_000)
    tracemalloc.start()
    error = bootstrap_error(sums, np.full(len(sums), sizes))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert error == pytest.approx(stats.cluster_robust_error(sums / sizes), rel=0.03)
    assert peak < 64 * 2**20


def test_drawing_alike_clusters_together_changes_nothing(monkeypatch):
    rng = np.random.default_rng(6)
    sums, sizes = rng.integers(-3, 4, 300).astype(float), rng.integers(1, 4, 300).astype(float)
    each = bootstrap_error(sums, sizes)
    monkeypatch.setattr("mera_ru_tasks.compare.bootstrap._MANY", 0)
    together = bootstrap_error(sums, sizes)
    assert together == pytest.approx(each, rel=0.03)
    order = rng.permutation(300)
    assert bootstrap_error(sums[order], sizes[order]) == pytest.approx(together, rel=1e-12)


def test_values_between_right_and_wrong_are_bootstrapped():
    values, baseline = np.random.default_rng(5).random((2, 600))
    found = stats.paired_difference(values, baseline)
    expected = ttest_rel(values, baseline)
    assert found.test == stats.BOOTSTRAP
    assert found.p == pytest.approx(expected.pvalue, abs=0.02)
    interval = expected.confidence_interval()
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high), abs=0.003)


def test_models_that_never_disagree_differ_by_nothing_with_some_doubt():
    values = np.array([1.0, 0.0] * 6)
    for clusters in (None, np.repeat(np.arange(4), 3)):
        found = stats.paired_difference(values, values, clusters)
        assert found.p == 1.0
        assert found.estimate.low < 0 < found.estimate.high


def test_one_cluster_alone_is_one_observation():
    found = stats.mean_estimate(np.array([1.0, 1.0, 0.0]), np.zeros(3))
    assert found.clusters == 1
    assert found.high - found.low > 0.6


def test_the_order_of_documents_changes_nothing():
    rng = np.random.default_rng(6)
    values, baseline, clusters = rng.integers(0, 2, 60) * 1.0, rng.integers(0, 2, 60) * 1.0, np.repeat(np.arange(20), 3)
    order = rng.permutation(60)
    first = stats.paired_difference(values, baseline, clusters)
    second = stats.paired_difference(values[order], baseline[order], clusters[order])
    assert first.estimate.value == pytest.approx(second.estimate.value)
    assert first.p == pytest.approx(second.p, abs=0.01)
    assert stats.paired_difference(values, baseline, clusters) == first


def test_the_spread_over_prompts_is_tested_by_dealing_the_right_answers_anew():
    shares, sizes = [0.2, 0.5, 0.35, 0.4], [20, 20, 20, 20]
    observed, p = stats.spread(shares, sizes)
    rng = np.random.default_rng(7)
    answers = np.array([1] * 29 + [0] * 51)
    dealt = [np.ptp(rng.permutation(answers).reshape(4, 20).mean(axis=1)) >= 0.3 - 1e-9 for _ in range(4000)]
    assert observed == pytest.approx(0.3)
    assert p == pytest.approx(np.mean(dealt), abs=0.03)


# --- coverage: models drawn at random, so that the truth is known ---

WORTHS = ["right or wrong", "in half points"]
IN_CLUSTER = [1, 3]


def chances_on_clusters(rng, ability, count, alike):
    """The chances of models of known ability on `count` clusters, whose documents are alike by `alike` (0 to 1)."""
    spread = 1 / alike - 1
    drawn = rng.beta((ability * spread)[:, None], ((1 - ability) * spread)[:, None], (len(ability), count))
    return np.clip(drawn, 1e-9, 1 - 1e-9)


def draw_models(rng, n, in_cluster, low, high):
    """Abilities, uniform as in Bowyer et al., how alike documents of a cluster are, and chances on each cluster."""
    ability = rng.uniform(low, high, EVALUATIONS)
    alike = rng.uniform(0.001, 0.5, EVALUATIONS) if in_cluster > 1 else np.full(EVALUATIONS, 1e-9)
    return ability, alike, chances_on_clusters(rng, ability, n // in_cluster, alike)


def answered(chances, luck):
    return (luck < chances[:, :, None, None]).mean(axis=3)


@pytest.mark.parametrize("worth", WORTHS)
@pytest.mark.parametrize("in_cluster", IN_CLUSTER)
@pytest.mark.parametrize("n", [12, 60, 201, 600])
def test_intervals_of_scores_cover(n, in_cluster, worth):
    rng = np.random.default_rng([n, in_cluster])
    ability, _, chances = draw_models(rng, n, in_cluster, 0, 1)
    values = answered(chances, rng.random((EVALUATIONS, n // in_cluster, in_cluster, 1 + WORTHS.index(worth))))
    clusters = np.repeat(np.arange(n // in_cluster), in_cluster) if in_cluster > 1 else None
    found = [stats.mean_estimate(one, clusters) for one in values.reshape(EVALUATIONS, n)]
    covered = np.mean([one.low <= true <= one.high for one, true in zip(found, ability, strict=True)])
    assert 0.93 <= covered <= 0.97


@pytest.mark.parametrize("worth", WORTHS)
@pytest.mark.parametrize("in_cluster", IN_CLUSTER)
@pytest.mark.parametrize("n", [12, 60, 201, 600])
def test_intervals_of_differences_cover(n, in_cluster, worth):
    rng = np.random.default_rng([n, in_cluster, 1])
    ability, alike, chances = draw_models(rng, n, in_cluster, 0.05, 0.95)
    better = rng.normal(0, 0.7, (EVALUATIONS, 1))
    many = chances_on_clusters(rng, ability, 1000, alike)
    truth = (improved(many, better) - many).mean(axis=1)
    luck = rng.random((EVALUATIONS, n // in_cluster, in_cluster, 1 + WORTHS.index(worth)))
    # Half of the luck is the document's, which both models share.
    others_luck = np.where(rng.random(luck.shape) < 0.5, luck, rng.random(luck.shape))
    values, baseline = answered(improved(chances, better), others_luck), answered(chances, luck)
    clusters = np.repeat(np.arange(n // in_cluster), in_cluster) if in_cluster > 1 else None
    pairs = zip(values.reshape(EVALUATIONS, n), baseline.reshape(EVALUATIONS, n), strict=True)
    found = [stats.paired_estimate(*pair, clusters)[0] for pair in pairs]
    low, high = np.array([one.low for one in found]), np.array([one.high for one in found])
    covered = np.mean((low <= truth) & (truth <= high))
    assert 0.93 <= covered <= 0.97


def improved(chances, better):
    """The chances of models that are better by so many logits on every cluster."""
    return 1 / (1 + np.exp(-np.log(chances / (1 - chances)) - better))
