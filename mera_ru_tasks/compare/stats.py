"""How sure a number is: intervals, paired differences and tests, as pure functions of arrays.

Every score here is a mean of values from 0 to 1 over documents; documents of one regionalism form a cluster. Intervals
are at 95%. Sources:

- Wilson 1927, "Probable inference, the law of succession, and statistical inference".
- Miller 2024, "Adding Error Bars to Evals": errors clustered by the unit that was drawn, and paired differences.
- Bowyer, Aitchison and Ivanova 2025, "Position: Don't Use the CLT in LLM Evals With Fewer Than a Few Hundred
  Datapoints": mean ± 1.96 errors covers too little there, and has no width where all answers are right or wrong.
- Franco, Little, Louis and Slud 2019, "Comparative study of confidence intervals for proportions in complex sample
  surveys": Wilson's interval at the effective sample size serves clustered proportions.
- Agresti and Min 2005, "Simple improved confidence intervals for comparing matched proportions": a part of a pair added
  on each side mends the paired interval.
- Zou and Donner 2008, "Construction of confidence limits about effect measures: a general approach" (MOVER).
- Holm 1979, "A simple sequentially rejective multiple test procedure".
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special  # scipy.stats, whose functions call these, takes a second to import

from mera_ru_tasks.compare.bootstrap import PSEUDO, SEED, Values, bootstrap_error

LEVEL = 0.95

_Z = float(special.ndtri(0.5 + LEVEL / 2))


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval.

    Attributes:
        value: the number, a mean or a difference of means.
        low: the interval's lower end.
        high: the interval's upper end.
        n: how many documents, or groups where groups are what is counted, it rests on.
        clusters: how many independent clusters these form.
    """

    value: float
    low: float
    high: float
    n: int
    clusters: int


@dataclass(frozen=True)
class Paired:
    """A paired difference with its interval and test.

    Attributes:
        estimate: the mean of the differences.
        error: its standard error.
        p: the two-sided p-value of "no difference".
        test: the test's name.
    """

    estimate: Estimate
    error: float
    p: float
    test: str


MCNEMAR = "exact McNemar"
BOOTSTRAP = "paired cluster bootstrap"
NORMAL = "normal approximation"


def wilson(share: float, n: float) -> tuple[float, float]:
    """Wilson's score interval of a proportion.

    Args:
        share: the observed proportion.
        n: how many independent trials it rests on; need not be whole.
    """
    centre = (share + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
    half = _Z / (1 + _Z**2 / n) * np.sqrt(share * (1 - share) / n + _Z**2 / (4 * n**2))
    # At 0 and 1 the formula ends there but for rounding.
    return (0.0 if share == 0 else max(0.0, float(centre - half))), (
        1.0 if share == 1 else min(1.0, float(centre + half))
    )


def cluster_robust_error(values: Values, clusters: NDArray[Any] | None = None) -> float:
    """Standard error of a mean whose values are dependent within clusters (Miller 2024, equation 4).

    With the usual factor G / (G − 1) for G clusters; without clusters, sqrt(s² / n). NaN for a single cluster.

    Args:
        values: shape (n,).
        clusters: each value's cluster, shape (n,); default: each value is its own.
    """
    sums, sizes = _by_cluster(values, clusters)
    number = len(sums)
    if number < 2:
        return float("nan")
    residuals = sums - sizes * values.mean()
    return float(np.sqrt(number / (number - 1) * (residuals**2).sum()) / len(values))


def mean_estimate(values: Values, clusters: NDArray[Any] | None = None) -> Estimate:
    """Estimate the mean of values from 0 to 1.

    Wilson's interval at the effective sample size p (1 − p) / error²: the number of independent right-or-wrong
    documents that would know the mean as well. For such documents that is n, and the interval is Wilson's own. The
    cluster-robust error counts where it is the larger: a few clusters whose sums happen to agree do not make a mean
    more certain than independent documents would. Where all values are equal, the clusters are counted. Where values
    between right and wrong are clustered, all of the variance is an estimate: Student's t then takes the place of the
    normal.

    Args:
        values: shape (n,), n > 0.
        clusters: each value's cluster, shape (n,).
    """
    mean, n = float(values.mean()), len(values)
    number = n if clusters is None else len(np.unique(clusters))
    is_binary = _is_binary(values)
    independent = float(values.var()) / (n if is_binary else max(n - 1, 1))
    clustered = cluster_robust_error(values, clusters) ** 2 if number < n else 0.0
    variance = float(np.nanmax([independent, clustered]))
    effective = mean * (1 - mean) / variance if variance > 1e-12 else float(number)
    if not is_binary and number < n:
        effective *= (_Z / _student(n - 1)) ** 2
    low, high = wilson(mean, effective)
    return Estimate(mean, low, high, n, number)


def paired_difference(values: Values, baseline: Values, clusters: NDArray[Any] | None = None) -> Paired:
    """Estimate how much higher `values` are than `baseline` on the same documents.

    The interval is the mean ± Student's t, with a degree of freedom for each cluster but one, times the cluster-robust
    standard error, both with `PSEUDO` added. The test is the exact McNemar test (the binomial test of the discordant
    pairs) for right-or-wrong values of independent documents, else the paired cluster bootstrap's.

    Args:
        values: shape (n,), n > 0, from 0 to 1.
        baseline: shape (n,), in the same order.
        clusters: each document's cluster, shape (n,).
    """
    estimate, error = paired_estimate(values, baseline, clusters)
    differences = values - baseline
    if _is_binary(values) and _is_binary(baseline) and estimate.clusters == estimate.n:
        p = exact_mcnemar(int((differences > 0).sum()), int((differences < 0).sum()))
        return Paired(estimate, error, p, MCNEMAR)
    sums, sizes = _by_cluster(differences, clusters)
    ratio = abs(estimate.value) / bootstrap_error(sums, sizes)
    return Paired(estimate, error, 2 * float(special.stdtr(max(estimate.clusters - 1, 1), -ratio)), BOOTSTRAP)


def paired_estimate(values: Values, baseline: Values, clusters: NDArray[Any] | None = None) -> tuple[Estimate, float]:
    """The estimate of `paired_difference` and its standard error, without the test."""
    differences = values - baseline
    sums, sizes = _by_cluster(differences, clusters)
    total = len(differences) + 2 * PSEUDO
    centre = float(sums.sum() / total)
    squares = ((sums - sizes * centre) ** 2).sum() + PSEUDO * ((1 - centre) ** 2 + (1 + centre) ** 2)
    error = float(np.sqrt(squares)) / total
    half = _student(max(len(sums) - 1, 1)) * error
    mean = float(differences.mean())
    low, high = max(-1.0, min(centre - half, mean)), min(1.0, max(centre + half, mean))
    return Estimate(mean, low, high, len(differences), len(sums)), error


@functools.cache
def _student(freedom: int) -> float:
    """The quantile of Student's t that an interval reaches to."""
    return float(special.stdtrit(freedom, 0.5 + LEVEL / 2))


def _is_binary(values: Values) -> bool:
    return bool(np.isin(values, (0.0, 1.0)).all())


def exact_mcnemar(only_first: int, only_second: int) -> float:
    """Two-sided p-value of the exact McNemar test.

    Args:
        only_first: documents that only the first model has right.
        only_second: documents that only the second has right.
    """
    discordant = only_first + only_second
    if not discordant:
        return 1.0
    return min(1.0, 2 * float(special.bdtr(min(only_first, only_second), discordant, 0.5)))


def combine(parts: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Estimate a weighted sum of independent numbers from their intervals (MOVER).

    Weights 1 / T give the unweighted mean over T tasks; +1 and −1 give the difference of two independent scores, for
    proportions Newcombe's (1998) method 10.
    """
    value = sum(weight * part.value for part, weight in zip(parts, weights, strict=True))
    down = up = 0.0
    for part, weight in zip(parts, weights, strict=True):
        below, above = part.value - part.low, part.high - part.value
        down += (weight * (below if weight > 0 else above)) ** 2
        up += (weight * (above if weight > 0 else below)) ** 2
    n, clusters = sum(part.n for part in parts), sum(part.clusters for part in parts)
    return Estimate(float(value), float(value - np.sqrt(down)), float(value + np.sqrt(up)), n, clusters)


def mean_of_differences(parts: Sequence[Paired]) -> Paired:
    """The unweighted mean of independent paired differences, one for each task; its test is the normal one."""
    estimate = combine([part.estimate for part in parts], [1 / len(parts)] * len(parts))
    error = float(np.sqrt(sum(part.error**2 for part in parts))) / len(parts)
    return Paired(estimate, error, 2 * float(special.ndtr(-abs(estimate.value) / error)), NORMAL)


def holm(ps: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given."""
    adjusted = [0.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda i: ps[i])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def _by_cluster(values: Values, clusters: NDArray[Any] | None) -> tuple[Values, Values]:
    """Each cluster's sum and size."""
    if clusters is None:
        return values, np.ones(len(values))
    index: NDArray[np.int64] = np.unique(clusters, return_inverse=True)[1]
    return np.bincount(index, weights=values).astype(np.float64), np.bincount(index).astype(np.float64)


def spread(shares: Sequence[float], sizes: Sequence[int]) -> tuple[float, float]:
    """How far shares of right answers lie apart, and how often chance alone spreads them as far.

    A permutation test: the right answers of all parts together, dealt out over the parts at random.

    Args:
        shares: each part's share of right answers.
        sizes: each part's number of documents.

    Returns:
        Largest minus smallest share, and the p-value.
    """
    number = np.array(sizes)
    right = int(np.rint(np.dot(shares, number)))
    observed = max(shares) - min(shares)
    dealt = np.random.default_rng(SEED).multivariate_hypergeometric(number, right, size=2000) / number
    as_far = (np.ptp(dealt, axis=1) >= observed - 1e-9).sum()
    return observed, float((1 + as_far) / (1 + len(dealt)))
