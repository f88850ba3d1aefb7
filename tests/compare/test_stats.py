"""Compare each statistic with an independent computation, and the intervals with simulated evaluations."""

import itertools
import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm, ttest_1samp, ttest_rel
from scipy.stats import t as student
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from benchmarks.interval_coverage import CELLS, Cell, simulate
from mera_ru_tasks.compare import stats

EVALUATIONS = 1000


@given(st.integers(1, 700).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_that_of_statsmodels(counts):
    right, n = counts
    expected = proportion_confint(right, n, alpha=0.05, method="wilson")
    assert stats.wilson(right / n, n) == pytest.approx(expected, abs=1e-9)
    found = stats.mean_estimate(np.array([1.0] * right + [0.0] * (n - right)))
    if n >= stats.FEWEST_CLUSTERS:
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)
    assert (found.value, found.n, found.clusters) == (right / n, n, n)


def clustered_fit(values, clusters, **options):
    return sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": clusters}, **options)


@pytest.mark.parametrize("sizes", [[1] * 30, [3] * 12, [1, 2, 3, 4, 5, 9]])
def test_the_cluster_robust_error_is_that_of_statsmodels(sizes):
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(1).random(len(clusters)) + 0.3 * (clusters % 3)
    assert stats.cluster_robust_error(values, clusters) == pytest.approx(clustered_fit(values, clusters).bse[0])


def test_without_clusters_the_error_is_the_usual_one():
    values = np.random.default_rng(2).random(50)
    assert stats.cluster_robust_error(values) == pytest.approx(values.std(ddof=1) / math.sqrt(50))
    assert math.isnan(stats.cluster_robust_error(values, np.zeros(50)))


def right_or_wrong(won, lost, both, neither=0):
    values = [1.0] * won + [0.0] * lost + [1.0] * both + [0.0] * neither
    baseline = [0.0] * won + [1.0] * lost + [1.0] * both + [0.0] * neither
    return np.array(values), np.array(baseline)


def bonett_price_by_hand(won, lost, n, level=0.95):
    """Compute the published formula in the authors' notation."""
    p12, p21 = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    error = math.sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))
    half = norm.ppf(0.5 + level / 2) * error
    return p12 - p21 - half, p12 - p21 + half, 2 * norm.sf(abs(p12 - p21) / error)


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 5), (3, 17), (40, 22), (0, 9)])
def test_differences_of_right_or_wrong_values_are_bonett_and_prices(won, lost):
    found = stats.paired_difference(*right_or_wrong(won, lost, 10))
    n = won + lost + 10
    low, high, p = bonett_price_by_hand(won, lost, n)
    assert (found.estimate.low, found.estimate.high, found.p) == pytest.approx((low, high, p))
    assert found.estimate.value == pytest.approx((won - lost) / n)
    assert (found.won, found.lost, found.method, found.df) == (won, lost, stats.BONETT_PRICE, math.inf)


@pytest.mark.parametrize(
    ("won", "lost", "both", "neither"), [(9, 7, 40, 44), (0, 0, 2, 198), (6, 15, 70, 9), (2, 2, 0, 8)]
)
def test_the_detectable_difference_is_where_the_published_formula_has_80_percent(won, lost, both, neither):
    """Let the better model correct a share of its errors until the test detects the difference in 80% of the cases."""
    found = stats.paired_difference(*right_or_wrong(won, lost, both, neither))
    n, won, lost = won + lost + both + neither, max(won, lost), min(won, lost)

    def counts(share):
        return won + neither * share, lost - lost * share

    def ratio(share):
        p12, p21 = ((count + 1) / (n + 2) for count in counts(share))
        return (p12 - p21) / math.sqrt((p12 + p21 - (p12 - p21) ** 2) / (n + 2))

    share = brentq(lambda share: ratio(share) - norm.ppf(0.975) - norm.ppf(0.8), 0, 1)
    assert found.detectable == pytest.approx(np.subtract(*counts(share)) / n)


def test_the_detectable_difference_of_other_tests_is_a_multiple_of_the_error():
    values, baseline = np.random.default_rng(6).normal(2, 1, (2, 60))
    found = stats.paired_difference(values, baseline, bounded=False)
    expected = (student.ppf(0.975, 59) + norm.ppf(0.8)) * ttest_rel(values, baseline).statistic ** -1
    assert found.detectable == pytest.approx(abs(expected * (values - baseline).mean()))
    assert stats.mean_of_differences([found]).detectable == pytest.approx(found.detectable)


def test_the_mean_of_scores_has_movers_interval():
    parts = [stats.mean_estimate(right_or_wrong(*one)[0]) for one in ((30, 2, 10), (5, 20, 3), (1, 40, 0))]
    found = stats.combine(parts, [1 / 3] * 3)
    ends = [proportion_confint(round(part.value * part.n), part.n, method="wilson") for part in parts]
    value = np.mean([part.value for part in parts])
    down = math.hypot(*(part.value - low for part, (low, _) in zip(parts, ends, strict=True))) / 3
    up = math.hypot(*(high - part.value for part, (_, high) in zip(parts, ends, strict=True))) / 3
    assert (found.low, found.value, found.high) == pytest.approx((value - down, value, value + up))


def test_two_models_that_are_always_wrong_differ_by_nothing_with_some_doubt():
    found = stats.paired_difference(np.zeros(12), np.zeros(12))
    assert (found.estimate.low, found.estimate.high) == pytest.approx((-0.198, 0.198), abs=5e-4)
    assert found.p == 1


def test_clustered_differences_have_the_effective_size_of_statsmodels_error():
    rng = np.random.default_rng(5)
    clusters = np.repeat(np.arange(40), 3)
    level = np.repeat(rng.random(40), 3)
    values, baseline = (rng.random(120) < level + 0.2) * 1.0, (rng.random(120) < level) * 1.0
    differences = values - baseline
    error = clustered_fit(differences, clusters).bse[0]
    size = min(120, differences.var() / error**2 * 120 / 119)
    centre = differences.sum() * size / 120 / (size + 2)
    variance = ((differences**2).mean() * size + 2 - centre**2 * (size + 2)) / (size + 2) ** 2
    half = student.ppf(0.975, 39) * math.sqrt(variance)
    found = stats.paired_difference(values, baseline, clusters)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((centre - half, centre + half), rel=1e-6)
    assert found.p == pytest.approx(2 * student.sf(abs(centre) / math.sqrt(variance), 39))
    assert (found.estimate.n, found.estimate.clusters, found.df) == (120, 40, 39)


def test_clusters_that_agree_wholly_count_once():
    clusters = np.repeat(np.arange(20), 3)
    found = stats.paired_difference(np.zeros(60), np.zeros(60), clusters)
    assert found.estimate.high == pytest.approx(student.ppf(0.975, 19) * math.sqrt(2 / 22**2))


def test_unbounded_values_have_the_paired_t_test():
    values, baseline = np.random.default_rng(6).normal(2, 1, (2, 60))
    found, expected = stats.paired_difference(values, baseline, bounded=False), ttest_rel(values, baseline)
    interval = expected.confidence_interval()
    assert (found.p, found.method) == (pytest.approx(expected.pvalue), stats.STUDENT)
    assert (found.estimate.low, found.estimate.high) == pytest.approx((interval.low, interval.high))
    clusters = np.repeat(np.arange(20), 3)
    fit = clustered_fit(values - baseline, clusters, use_t=True)
    found = stats.paired_difference(values, baseline, clusters, bounded=False)
    assert (found.p, found.estimate.low) == pytest.approx((fit.pvalues[0], fit.conf_int()[0][0]))
    one = ttest_1samp(values, 0).confidence_interval()
    mean = stats.mean_estimate(values, bounded=False)
    assert (mean.low, mean.high) == pytest.approx((one.low, one.high))


def test_a_ratio_of_sums_has_the_error_of_its_bootstrap():
    rng = np.random.default_rng(7)
    bits, size = rng.gamma(4, 10, 300), rng.integers(5, 40, 300).astype(float)
    values = stats.linearized(bits, size)
    assert values.mean() == pytest.approx(bits.sum() / size.sum())
    drawn = rng.integers(0, 300, (4000, 300))
    expected = (bits[drawn].sum(1) / size[drawn].sum(1)).std()
    assert stats.cluster_robust_error(values) == pytest.approx(expected, rel=0.06)


@pytest.mark.parametrize(("first", "second"), [((8, 10), (30, 60)), ((0, 12), (12, 12)), ((250, 500), (300, 500))])
def test_unpaired_differences_are_newcombes(first, second):
    parts = [stats.mean_estimate(np.array([1.0] * k + [0.0] * (n - k))) for k, n in (first, second)]
    expected = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    combined, found = stats.combine(parts, [1, -1]), stats.unpaired_difference(*parts)
    assert (combined.low, combined.high) == pytest.approx(expected, abs=1e-9)
    assert (found.estimate.low, found.estimate.high) == pytest.approx(expected, abs=1e-9)
    at_p = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff", alpha=found.p)
    assert min(abs(np.array(at_p))) == pytest.approx(0, abs=1e-6)
    assert (found.won, found.method) == (None, stats.NEWCOMBE)


def test_the_mean_over_tasks_adds_errors_in_quadrature():
    counts = [(30, 12, 60), (9, 9, 40), (2, 0, 25)]
    parts = [stats.paired_difference(*right_or_wrong(b, c, n - b - c)) for b, c, n in counts]
    found = stats.mean_of_differences(parts)
    ends = [bonett_price_by_hand(*one) for one in counts]
    centre = np.mean([(low + high) / 2 for low, high, _ in ends])
    half = math.sqrt(sum(((high - low) / 2) ** 2 for low, high, _ in ends)) / 3
    assert found.estimate.value == pytest.approx(np.mean([(b - c) / n for b, c, n in counts]))
    assert (found.estimate.low, found.estimate.high) == pytest.approx((centre - half, centre + half))
    assert found.p == pytest.approx(2 * norm.sf(abs(centre) / (half / norm.ppf(0.975))))
    assert (found.won, found.lost, found.estimate.n) == (41, 21, 125)


def test_the_degrees_of_freedom_of_a_mean_are_welchs():
    rng = np.random.default_rng(8)
    values = [rng.normal(0.2, 1 + n / 20, (2, n)) for n in (12, 30)]
    parts = [stats.paired_difference(*pair, bounded=False) for pair in values]
    differences = [pair[0] - pair[1] for pair in values]
    # The mean of two independent differences, halved, is Welch's test of one against the negative of the other.
    welch = sm.stats.CompareMeans.from_data(differences[0], -differences[1]).ttest_ind(usevar="unequal")
    assert stats.mean_of_differences(parts).p == pytest.approx(welch[1])


@pytest.mark.parametrize(
    "ps", [[0.04], [0.01, 0.04, 0.03], [0.5, 0.5, 0.5], [0.001, 0.9, 0.02, 0.02, 0.2], [1.0, 0.0]], ids=str
)
def test_holm_is_that_of_statsmodels(ps):
    assert stats.holm(ps) == pytest.approx(list(multipletests(ps, method="holm")[1]))


def test_holm_of_nothing_is_nothing():
    assert stats.holm([]) == []


@given(st.data())
def test_models_share_a_letter_exactly_if_they_are_not_different(data):
    models = [f"m{number}" for number in range(data.draw(st.integers(1, 8)))]
    pairs = list(itertools.combinations(models, 2))
    different = [pair for pair in pairs if data.draw(st.booleans())]
    found = stats.letters(models, different)
    assert "a" in found[models[0]]
    for first, second in pairs:
        assert bool(set(found[first]) & set(found[second])) == ((first, second) not in different)


def test_letters_are_the_usual_ones():
    assert stats.letters(["x", "y", "z"], [("x", "z")]) == {"x": "a", "y": "ab", "z": "b"}
    assert stats.letters(["x", "y"], []) == {"x": "a", "y": "a"}


@given(st.integers(0, 2**32), st.sampled_from([10, 12, 30, 90]), st.booleans(), st.sampled_from([2, 3, 11]))
def test_an_interval_excludes_0_exactly_if_p_is_below_005(seed, n, in_clusters, steps):
    rng = np.random.default_rng(seed)
    skill = rng.random(2)
    values, baseline = (
        np.floor(np.minimum(rng.random(n) ** (1 / one - 0.9), 0.999) * steps) / (steps - 1) for one in skill
    )
    clusters = np.arange(n) // 3 if in_clusters and n >= 30 else None
    paired = stats.paired_difference(values, baseline, clusters)
    unpaired = stats.unpaired_difference(*(stats.mean_estimate(one, clusters) for one in (values, baseline)))
    for found in (paired, unpaired, stats.mean_of_differences([paired, paired]), stats.mean_of_differences([paired])):
        excludes = found.estimate.low > 0 or found.estimate.high < 0
        assert excludes == (found.p < 0.05)
        assert found.estimate.low <= found.estimate.value <= found.estimate.high


@pytest.mark.parametrize("clusters", [None, np.repeat(np.arange(4), 3)])
def test_few_clusters_have_counts_and_no_test(clusters):
    values, baseline = right_or_wrong(9, 0, 3)
    if clusters is None:
        values, baseline = values[:9], baseline[:9]
    found = stats.paired_difference(values, baseline, clusters)
    assert (found.p, found.won, found.lost) == (None, 9, 0)
    assert stats.mean_of_differences([found, stats.paired_difference(*right_or_wrong(5, 5, 20))]).p is None


@pytest.mark.parametrize(
    ("n", "clusters", "has_interval"), [(1, 1, False), (9, 9, False), (10, 10, True), (30, 9, False)]
)
@pytest.mark.parametrize("bounded", [True, False])
def test_few_clusters_have_no_interval(n, clusters, has_interval, bounded):
    values, groups = np.arange(n) % 2 * 1.0, np.arange(n) % clusters
    score = stats.mean_estimate(values, groups, bounded=bounded)
    others = [
        stats.paired_difference(values, 1 - values, groups, bounded=bounded).estimate,
        stats.combine([score, stats.mean_estimate(np.arange(60) % 2 * 1.0)], [0.5, 0.5]),
        stats.combine([score] * 3, [1 / 3] * 3),
        stats.mean_of_differences([stats.paired_difference(values, 1 - values, groups, bounded=bounded)] * 3).estimate,
    ]
    for found in (score, *others):
        assert (found.low is not None, found.high is not None) == (has_interval, has_interval)


def test_the_order_of_documents_changes_nothing():
    rng = np.random.default_rng(6)
    values, baseline, clusters = rng.integers(0, 2, 60) * 1.0, rng.integers(0, 2, 60) * 1.0, np.repeat(np.arange(20), 3)
    order = rng.permutation(60)
    first = stats.paired_difference(values, baseline, clusters)
    second = stats.paired_difference(values[order], baseline[order], clusters[order])
    assert (first.p, first.estimate.low) == pytest.approx((second.p, second.estimate.low))
    assert stats.paired_difference(values, baseline, clusters) == first


def test_the_spread_over_prompts_is_tested_by_dealing_the_right_answers_again():
    shares, sizes = [0.2, 0.5, 0.35, 0.4], [20, 20, 20, 20]
    observed, p = stats.spread(shares, sizes)
    rng = np.random.default_rng(7)
    answers = np.array([1] * 29 + [0] * 51)
    dealt = [np.ptp(rng.permutation(answers).reshape(4, 20).mean(axis=1)) >= 0.3 - 1e-9 for _ in range(4000)]
    assert observed == pytest.approx(0.3)
    assert p == pytest.approx(np.mean(dealt), abs=0.03)


# --- coverage: in simulated evaluations, the true values are known ---


@pytest.mark.parametrize("cell", [cell for cell in CELLS if cell.documents <= 300], ids=str)
def test_intervals_of_differences_cover_and_tests_keep_their_level(cell: Cell):
    found = simulate(cell, EVALUATIONS, seed=1)
    noise = 3.3 * math.sqrt(0.05 * 0.95 / EVALUATIONS)
    assert found.coverage >= (0.93 if cell.clusters >= 30 else 0.90) - noise
    if cell.gap == 0:
        assert found.rejected <= 0.06 + noise


def test_the_simulation_uses_the_formulas_of_paired_differences():
    rng = np.random.default_rng(9)
    cell = next(cell for cell in CELLS if cell.in_cluster == 3 and cell.clusters == 30 and cell.icc)
    values, baseline = cell.draw(rng, 20)
    low, high, rejected = cell.intervals(values, baseline)
    for number in range(20):
        pair = values[number].ravel(), baseline[number].ravel()
        found = stats.paired_difference(*pair, np.repeat(np.arange(30), 3))
        assert (low[number], high[number]) == pytest.approx((found.estimate.low, found.estimate.high))
        assert rejected[number] == (found.p < 0.05)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("in_cluster", [1, 3])
@pytest.mark.parametrize("n", [30, 60, 201, 600])
def test_intervals_of_scores_cover(n, in_cluster, steps):
    rng = np.random.default_rng([n, in_cluster])
    ability = rng.uniform(0, 1, EVALUATIONS)
    alike = rng.uniform(0.001, 0.5, EVALUATIONS) if in_cluster > 1 else np.full(EVALUATIONS, 1e-9)
    spread = 1 / alike - 1
    chances = rng.beta((ability * spread)[:, None], ((1 - ability) * spread)[:, None], (EVALUATIONS, n // in_cluster))
    luck = rng.random((EVALUATIONS, n // in_cluster, in_cluster, steps))
    values = (luck < chances[:, :, None, None]).mean(axis=3).reshape(EVALUATIONS, n)
    clusters = np.repeat(np.arange(n // in_cluster), in_cluster) if in_cluster > 1 else None
    found = [stats.mean_estimate(one, clusters) for one in values]
    covered = np.mean([one.low <= true <= one.high for one, true in zip(found, ability, strict=True)])
    assert 0.92 <= covered <= 0.98
