"""Compute intervals and tests for scores and their differences. All functions are pure functions of arrays.

A score is a mean of values over documents. The documents of a group (a regionalism) form a cluster. Intervals have a
confidence level of 95%. Each p-value belongs to the test that corresponds to the interval: p < 0.05 if and only if the
interval excludes 0. Sources:

- Wilson 1927, "Probable inference, the law of succession, and statistical inference".
- Bonett and Price 2012, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired
  data". One document won and one document lost are added to the data of a paired difference.
- Franco, Little, Louis and Slud 2019, "Comparative study of confidence intervals for proportions in complex sample
  surveys". Such intervals are valid for clustered data if they use the effective sample size.
- Miller 2024, "Adding Error Bars to Evals". This paper describes cluster-robust errors and paired differences.
- Newcombe 1998, "Interval estimation for the difference between independent proportions", method 10.
- Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach" (MOVER).
- Holm 1979, "A simple sequentially rejective multiple test procedure".
- Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons".

benchmarks/interval_coverage.py simulates the coverage of the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats calls the same functions, but takes a second to import

Values = NDArray[np.float64]

LEVEL = 0.95
ALPHA = 1 - LEVEL
# The power at which a difference counts as detectable.
POWER = 0.8

# With fewer clusters or independent documents, intervals are unreliable. An estimate then has none, and no verdict is
# based on it.
FEWEST_CLUSTERS = 10

_Z = float(special.ndtri(0.5 + LEVEL / 2))
_SEED = 20_260_101


@dataclass(frozen=True)
class Estimate:
    """An estimate with its 95% interval. With fewer than `FEWEST_CLUSTERS` clusters, there is no interval.

    Attributes:
        value: the estimated mean or difference of means.
        low: the lower end of the interval, or None without an interval.
        high: the upper end of the interval, or None without an interval.
        n: the number of documents, or of groups for a group metric.
        clusters: the number of independent clusters of documents or groups.
        effective: the number of independent documents that would give the same precision, or None if not computed.
    """

    value: float
    low: float | None
    high: float | None
    n: int
    clusters: int
    effective: float | None = None

    def __post_init__(self) -> None:
        """Remove the interval of an estimate from too few clusters."""
        if self.clusters < FEWEST_CLUSTERS:
            object.__setattr__(self, "low", None)
            object.__setattr__(self, "high", None)


@dataclass(frozen=True)
class Growth:
    """How the centre and the squared error of a difference would change if one model had d more points.

    The centre moves by `centre` × d. The squared error grows by `up` × d − `curve` × d². If the other model improves,
    it grows by `down` × d − `curve` × d². A model improves if some of its wrong answers become correct: a document that
    the other model won becomes a tie, and a tie becomes a document won. So a larger difference has a larger error.
    """

    centre: float = 1.0
    up: float = 0.0
    down: float = 0.0
    curve: float = 0.0


@dataclass(frozen=True)
class Difference:
    """The difference between two scores, with an interval and a test.

    Attributes:
        estimate: the difference with its interval.
        centre: the centre of the interval before it is clipped to the ends of the scale.
        error: the standard error of `centre`.
        df: the degrees of freedom of Student's t distribution. Infinite for the normal distribution.
        p: the two-sided p-value for the null hypothesis of no difference. None with too few clusters for a test.
        method: the name of the method.
        won: the number of documents (or groups) with a better value than in the other run; None if unpaired.
        lost: the number with a worse value; None if unpaired.
        growth: how centre and error would change with the difference.
    """

    estimate: Estimate
    centre: float
    error: float
    df: float
    p: float | None
    method: str
    won: int | None = None
    lost: int | None = None
    growth: Growth = Growth()

    @property
    def detectable(self) -> float:
        """The true difference that a comparison with this standard error detects with 80% power."""
        ratio = (quantile(self.df) + float(special.ndtri(POWER))) ** 2
        centre, of = abs(self.centre), self.growth
        slope = of.up if self.centre >= 0 else of.down
        # Solve for the larger d at which the centre, moved by d, is sqrt(ratio) errors away from 0.
        square, linear = of.centre**2 + ratio * of.curve, 2 * centre * of.centre - ratio * slope
        rest = centre**2 - ratio * self.error**2
        further = (math.sqrt(max(0.0, linear**2 - 4 * square * rest)) - linear) / (2 * square)
        return abs(self.estimate.value) + further


BONETT_PRICE = "Bonett-Price"
STUDENT = "Student's t"
NEWCOMBE = "Newcombe"


def wilson(share: float, n: float, z: float = _Z) -> tuple[float, float]:
    """Return Wilson's score interval for a proportion.

    Args:
        share: the observed proportion, from 0 to 1.
        n: the number of independent trials. It may be fractional.
        z: the quantile of the normal distribution. By default, the quantile for a 95% interval.
    """
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * math.sqrt(max(share * (1 - share), 0.0) / n + z**2 / (4 * n**2))
    # For shares of 0 and 1, the exact result is the end of the scale. The formula would add rounding errors.
    return (0.0 if share == 0 else max(0.0, centre - half)), (1.0 if share == 1 else min(1.0, centre + half))


def bonett_price(mean: Any, square: Any, n: Any) -> tuple[Any, Any]:
    """Return the centre and the standard error of Bonett and Price's interval for a paired difference.

    One document with the difference +1 and one document with the difference −1 are added to the data. If all values are
    0 or 1, b documents are won and c are lost, then `mean` is (b − c) / n and `square` is (b + c) / n. The result is
    then that of the published formula. The arguments may be arrays of the same shape.

    Args:
        mean: the mean difference, from −1 to 1.
        square: the mean of the squared differences.
        n: the effective number of documents.
    """
    total = n + 2
    variance = (n * square + 2 - (n * mean) ** 2 / total) / total**2
    return n * mean / total, np.sqrt(variance)


def quantile(df: float) -> float:
    """Return the 97.5% quantile of Student's t distribution, or of the normal distribution if `df` is infinite."""
    return _Z if math.isinf(df) else float(special.stdtrit(df, 0.5 + LEVEL / 2))


def p_value(statistic: float, df: float) -> float:
    """Return the two-sided p-value of a statistic under Student's t distribution (see `quantile`)."""
    return 2 * float(special.ndtr(-abs(statistic)) if math.isinf(df) else special.stdtr(df, -abs(statistic)))


def cluster_robust_error(values: Values, clusters: NDArray[Any] | None = None) -> float:
    """Return the cluster-robust standard error of a mean (Miller 2024, equation 4).

    It includes the usual factor G / (G − 1) for G clusters. Without clusters, it is sqrt(s² / n). For a single cluster,
    it is NaN.

    Args:
        values: the values, with shape (n,).
        clusters: the cluster of each value, with shape (n,). By default, each value is its own cluster.
    """
    sums, sizes = _by_cluster(values, clusters)
    number = len(sums)
    if number < 2:
        return float("nan")
    residuals = sums - sizes * values.mean()
    return float(np.sqrt(number / (number - 1) * (residuals**2).sum()) / len(values))


@dataclass(frozen=True)
class RunVariance:
    """The variance between the runs of one model.

    Attributes:
        variance: the variance of the runs' scores divided by the number of runs.
        df: the degrees of freedom of this variance, which is the number of runs minus 1. For a single run, it is 0 and
            the variance is unknown.
    """

    variance: float = 0.0
    df: int = 0

    def __add__(self, other: RunVariance) -> RunVariance:
        """Return the variance of the difference between two models' scores (by Welch and Satterthwaite)."""
        parts = [part for part in (self, other) if part.df]
        total = sum(part.variance for part in parts)
        uncertain = sum(part.variance**2 / part.df for part in parts)
        df = max(1, int(total**2 / uncertain)) if uncertain else sum(part.df for part in parts)
        return RunVariance(total, df)

    def added_to(self, error: float, df: float) -> tuple[float, float]:
        """Add the variance between runs to a standard error. Return the new error and its degrees of freedom."""
        if not self.variance:
            return error, df
        total = error**2 + self.variance
        return math.sqrt(total), total**2 / (error**4 / df + self.variance**2 / self.df)


ONE_RUN = RunVariance()


def mean_estimate(
    values: Values, clusters: NDArray[Any] | None = None, *, bounded: bool = True, runs: RunVariance = ONE_RUN
) -> Estimate:
    """Estimate a mean.

    For values from 0 to 1, the interval is Wilson's at the effective sample size p (1 − p) / error². This is the number
    of independent documents with values 0 or 1 that would give the same precision. The error is the larger of the
    cluster-robust error and the error for independent documents, because a few clusters may agree by chance. If all
    values are equal, the effective sample size is the number of clusters. If clustered values lie between 0 and 1,
    Student's t distribution replaces the normal distribution, because the whole variance is estimated. For unbounded
    values, the interval is Student's.

    Args:
        values: the values, with shape (n,) and n > 0.
        clusters: the cluster of each value, with shape (n,). By default, each value is its own cluster.
        bounded: False if values may be less than 0 or greater than 1.
        runs: the variance between runs if the values are means over several runs.
    """
    mean, n = float(values.mean()), len(values)
    number = n if clusters is None else len(np.unique(clusters))
    if not bounded:
        error, df = runs.added_to(cluster_robust_error(values, clusters), max(number - 1, 1))
        half = quantile(df) * error
        return Estimate(mean, mean - half, mean + half, n, number)
    is_binary = _is_binary(values)
    independent = float(values.var()) / (n if is_binary else max(n - 1, 1))
    clustered = cluster_robust_error(values, clusters) ** 2 if number < n else 0.0
    variance = independent if math.isnan(clustered) else max(independent, clustered)
    effective = mean * (1 - mean) / variance if variance > 1e-12 else float(number)
    if not is_binary and number < n:
        effective *= (_Z / quantile(n - 1)) ** 2
    if runs.variance:
        _, df = runs.added_to(math.sqrt(variance), math.inf)
        effective = mean * (1 - mean) / (variance + runs.variance) * (_Z / quantile(df)) ** 2
    return Estimate(mean, *wilson(mean, effective), n, number, effective)


def paired_difference(
    values: Values,
    baseline: Values,
    clusters: NDArray[Any] | None = None,
    *,
    bounded: bool = True,
    runs: RunVariance = ONE_RUN,
) -> Difference:
    """Estimate the mean of `values` minus the mean of `baseline` on the same documents.

    The method is Bonett and Price's. If documents form clusters, it uses the effective sample size and Student's t
    distribution. For unbounded values, the method is the (cluster-robust) paired t-test.

    Args:
        values: the values, with shape (n,) and n > 0.
        baseline: the values of the baseline for the same documents, with shape (n,).
        clusters: the cluster of each document, with shape (n,). By default, each document is its own cluster.
        bounded: False if values may be less than 0 or greater than 1.
        runs: the variance between runs of both models if the values are means over several runs.
    """
    differences = values - baseline
    mean, n = float(differences.mean()), len(differences)
    number = n if clusters is None else len(np.unique(clusters))
    df = math.inf if bounded and number == n else max(number - 1.0, 1.0)
    if bounded:
        size = effective_size(differences, clusters)
        centre, error = map(float, bonett_price(mean, float((differences**2).mean()), size))
        growth = _growth(values, baseline, size)
    else:
        centre, error, growth = mean, cluster_robust_error(differences, clusters), Growth()
    error, df = runs.added_to(error, df)
    half = quantile(df) * error
    low, high = centre - half, centre + half
    if bounded:
        low, high = max(-1.0, low), min(1.0, high)
    p = None if number < FEWEST_CLUSTERS else p_value(centre / error, df) if error else float(centre == 0)
    # The estimate is further from 0 than the centre, so the interval is extended to contain the estimate.
    estimate = Estimate(mean, min(low, mean), max(high, mean), n, number)
    won, lost = int((differences > 0).sum()), int((differences < 0).sum())
    return Difference(estimate, centre, error, df, p, BONETT_PRICE if bounded else STUDENT, won, lost, growth)


def _growth(values: Values, baseline: Values, size: float) -> Growth:
    """Return the growth of Bonett and Price's interval (see `bonett_price`)."""
    total, mean = size + 2, float((values - baseline).mean())

    def slope(model: Values, other: Values, ahead: float) -> float:
        wrong, lost = 1 - float(model.mean()), float(np.maximum(other - model, 0).mean())
        squares = 1 - 2 * lost / wrong if wrong else 1.0
        return (size * squares - 2 * size**2 * ahead / total) / total**2

    return Growth(size / total, slope(values, baseline, mean), slope(baseline, values, -mean), size**2 / total**3)


def paired_statistics(differences: Values) -> tuple[Values, Values, float]:
    """Return the centres, the errors and the degrees of freedom of `paired_difference` for many evaluations at once.

    Args:
        differences: the differences, from −1 to 1, with shape (evaluations, clusters, documents in a cluster).
    """
    _, clusters, in_cluster = differences.shape
    sums = differences.sum((1, 2)), (differences**2).sum((1, 2)), (differences.sum(2) ** 2).sum(1)
    return statistics_of_sums(*sums, clusters, in_cluster)


def statistics_of_sums(
    total: Values, squares: Values, by_cluster: Values, clusters: int, in_cluster: int
) -> tuple[Values, Values, float]:
    """Return the same as `paired_statistics` from sums over the documents of each evaluation.

    Args:
        total: the sum of the differences.
        squares: the sum of their squares.
        by_cluster: the sum, over clusters, of the square of the sum of the cluster's differences.
        clusters: the number of clusters.
        in_cluster: the number of documents in a cluster.
    """
    n = clusters * in_cluster
    mean, square = total / n, squares / n
    if in_cluster == 1:
        return (*bonett_price(mean, square, n), math.inf)
    # Rounding can make the difference of two equal numbers negative.
    clustered = np.maximum(by_cluster - total**2 / clusters, 0.0) * clusters / (clusters - 1) / n**2
    independent = (square - mean**2) / (n - 1)
    effect = np.maximum(clustered / np.maximum(independent, 1e-14), 1.0)
    size = np.where(independent < 1e-14, clusters, n / effect)
    return (*bonett_price(mean, square, size), clusters - 1.0)


def effective_size(values: Values, clusters: NDArray[Any] | None = None) -> float:
    """Return the number of independent documents that would give the same precision as these clusters.

    It is at most the number of documents. If all values are equal, it is the number of clusters.

    Args:
        values: the values, with shape (n,).
        clusters: the cluster of each value, with shape (n,). By default, each value is its own cluster.
    """
    n = len(values)
    if clusters is None:
        return float(n)
    number = len(np.unique(clusters))
    if number == n:
        return float(n)
    independent, clustered = float(values.var()) / (n - 1), cluster_robust_error(values, clusters) ** 2
    if independent < 1e-14 or math.isnan(clustered):
        return float(number)
    return n / max(1.0, clustered / independent)


def unpaired_difference(score: Estimate, other: Estimate) -> Difference:
    """Estimate the difference between two scores whose documents cannot be paired.

    The interval is Newcombe's at the effective sample sizes. The p-value is the significance level at which one end of
    the interval reaches 0.

    Args:
        score: a mean of values from 0 to 1.
        other: the mean to subtract.
    """
    n, m = score.effective or score.n, other.effective or other.n
    value = score.value - other.value

    def ends(z: float) -> tuple[float, float]:
        (low, high), (other_low, other_high) = wilson(score.value, n, z), wilson(other.value, m, z)
        below = math.hypot(score.value - low, other_high - other.value)
        above = math.hypot(high - score.value, other.value - other_low)
        return value - below, value + above

    low, high = ends(_Z)
    # The interval widens as z increases, so bisection finds the z at which the interval reaches 0.
    least, most = 0.0, 40.0
    for _ in range(60):
        z = (least + most) / 2
        least, most = (least, z) if ends(z)[0] <= 0 <= ends(z)[1] else (z, most)
    p = 2 * float(special.ndtr(-least)) if value else 1.0
    estimate = Estimate(value, low, high, min(score.n, other.n), min(score.clusters, other.clusters))
    p_or_none = None if estimate.clusters < FEWEST_CLUSTERS else p
    return Difference(estimate, value, (high - low) / (2 * _Z), math.inf, p_or_none, NEWCOMBE)


def combine(parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Estimate a weighted sum of independent estimates from their intervals (MOVER). Each part needs an interval.

    Weights of 1 / T give the unweighted mean over T tasks. Weights of +1 and −1 give the difference of two independent
    scores, which is Newcombe's method for proportions.
    """
    value = sum(weight * part.value for part, weight in zip(parts, weights, strict=True))
    n, clusters = sum(part.n for part in parts), sum(part.clusters for part in parts)
    down = up = 0.0
    for part, weight in zip(parts, weights, strict=True):
        if part.low is None or part.high is None:
            return Estimate(value, None, None, n, clusters)
        below, above = part.value - part.low, part.high - part.value
        down += (weight * (below if weight > 0 else above)) ** 2
        up += (weight * (above if weight > 0 else below)) ** 2
    return Estimate(float(value), float(value - math.sqrt(down)), float(value + math.sqrt(up)), n, clusters)


def mean_of_differences(parts: Sequence[Difference]) -> Difference:
    """Estimate the unweighted mean of independent differences, one for each task.

    Centres are averaged, and errors are added in quadrature. The degrees of freedom are those of Welch and
    Satterthwaite.
    """
    number = len(parts)
    squares = [part.error**2 for part in parts]
    value = sum(part.estimate.value for part in parts) / number
    centre, error = sum(part.centre for part in parts) / number, math.sqrt(sum(squares)) / number
    uncertain = sum(square**2 / part.df for square, part in zip(squares, parts, strict=True))
    df = sum(squares) ** 2 / uncertain if uncertain else math.inf
    half = quantile(df) * error
    n, clusters = sum(part.estimate.n for part in parts), sum(part.estimate.clusters for part in parts)
    estimate = Estimate(value, min(centre - half, value), max(centre + half, value), n, clusters)
    p: float | None = p_value(centre / error, df) if error else float(centre == 0)
    if any(part.p is None for part in parts):
        estimate, p = replace(estimate, low=None, high=None), None
    counts = [
        None if any(count is None for count in found) else sum(count or 0 for count in found)
        for found in ([part.won for part in parts], [part.lost for part in parts])
    ]
    growth = Growth(
        sum(part.growth.centre for part in parts) / number,
        *(sum(getattr(part.growth, name) for part in parts) / number**2 for name in ("up", "down", "curve")),
    )
    return Difference(estimate, centre, error, df, p, parts[0].method, counts[0], counts[1], growth)


def holm(ps: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm's procedure, in the same order."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def letters(models: Sequence[str], different: Collection[tuple[str, str]]) -> Mapping[str, str]:
    """Return letters for models. Two models share a letter if and only if they are not significantly different.

    The letters are computed by Piepho's insert-and-absorb algorithm.

    Args:
        models: the models from best to worst. The best model gets the letter a.
        different: the pairs that differ significantly, in any order.
    """
    columns = [set(models)]
    for first, second in different:
        split = []
        for column in columns:
            split += [column - {first}, column - {second}] if {first, second} <= column else [column]
        columns = []
        for column in split:  # absorb columns that are subsets of another column
            if not any(column < other for other in split) and column not in columns:
                columns.append(column)
    columns.sort(key=lambda column: [model not in column for model in models])
    names = [chr(ord("a") + index) if index < 26 else f"({index + 1})" for index in range(len(columns))]
    return {
        model: "".join(name for name, column in zip(names, columns, strict=True) if model in column) for model in models
    }


def linearized(numerators: Values, denominators: Values) -> Values:
    """Linearize a ratio of two sums (delta method).

    The mean of the returned values is the ratio. Their standard error is that of the ratio.

    Args:
        numerators: the numerators, such as bits, with shape (n,).
        denominators: the denominators, such as bytes, with shape (n,). Their sum is positive.
    """
    ratio = numerators.sum() / denominators.sum()
    return np.asarray(ratio + (numerators - ratio * denominators) / denominators.mean(), dtype=np.float64)


def spread(shares: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """Return the spread of scores between subsets of documents, and its p-value.

    The p-value is that of a permutation test, which assigns the correct answers to documents at random.

    Args:
        shares: the share of correct answers in each subset.
        sizes: the number of documents in each subset.

    Returns:
        The largest minus the smallest share, and the p-value.
    """
    number = np.array(sizes)
    right = int(np.rint(np.dot(shares, number)))
    observed = max(shares) - min(shares)
    dealt = np.random.default_rng(_SEED).multivariate_hypergeometric(number, right, size=2000) / number
    as_far = (np.ptp(dealt, axis=1) >= observed - 1e-9).sum()
    return observed, float((1 + as_far) / (1 + len(dealt)))


def _is_binary(values: Values) -> bool:
    return bool(((values == 0) | (values == 1)).all())


def _by_cluster(values: Values, clusters: NDArray[Any] | None) -> tuple[Values, Values]:
    """Return the sum and the size of each cluster."""
    if clusters is None:
        return values, np.ones(len(values))
    index: NDArray[np.int64] = np.unique(clusters, return_inverse=True)[1]
    return np.bincount(index, weights=values).astype(np.float64), np.bincount(index).astype(np.float64)
