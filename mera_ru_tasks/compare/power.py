"""Predict the power of a comparison before a run. The prediction simulates the test that `compare` uses.

benchmarks/predicted_power.py compares the predictions with simulated evaluations.

Two models answer the same documents. For each document, each model draws a random number between 0 and 1, its luck. The
answer is correct if the luck is less than the model's accuracy. On a share of the documents (`agreement`), both models
have the same luck. Within a group, the luck of any two documents has the correlation `icc`. Seeds are fixed, so results
are reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from mera_ru_tasks.compare import stats
from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark

SIMULATIONS = 20_000

_SEED = 20_260_102
_STEPS = 12  # of the bisection, each of which halves the interval


@dataclass(frozen=True)
class Size:
    """The size of a task: the number of groups, and the number of documents in each group.

    If each group has one document, the documents are independent.
    """

    clusters: int
    in_cluster: int = 1

    def __str__(self) -> str:
        return f"{self.clusters}x{self.in_cluster}" if self.in_cluster > 1 else str(self.clusters)

    def scaled(self, factor: float) -> Size:
        """Return a size with `factor` times as many groups, but no fewer groups than a verdict needs."""
        return Size(max(stats.FEWEST_CLUSTERS, round(self.clusters * factor)), self.in_cluster)


def _size_of(benchmark: Benchmark) -> Size:
    documents = sum(benchmark.test_size.values())
    in_group = len(benchmark.test_size) if benchmark.grouped else 1  # a group contains one document of each type
    return Size(documents // in_group, in_group)


# The sizes of the tasks in the group mera_ru: Enantiosemy, Riddles and RussianRegions.
MERA_RU = tuple(_size_of(benchmark) for benchmark in LEADERBOARD)


def draw_luck(
    generator: np.random.Generator, shape: tuple[int, int, int], agreement: float, icc: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Draw the luck of two models from the uniform distribution between 0 and 1.

    Args:
        generator: the random number generator.
        shape: the numbers of evaluations, of groups, and of documents in a group.
        agreement: the share of documents on which both models have the same luck.
        icc: the correlation of the luck of two documents in a group.

    Returns:
        An array of this shape for each model.
    """

    def luck() -> NDArray[np.float64]:
        own = generator.random(shape)
        if not icc or shape[2] == 1:
            return own
        common = generator.random((shape[0], shape[1], 1))
        return np.where(generator.random(shape) < math.sqrt(icc), common, own)

    first = luck()
    return first, np.where(generator.random(shape) < agreement, first, luck())


def power(
    sizes: Sequence[Size],
    accuracy: float,
    difference: float,
    *,
    agreement: float,
    icc: float,
    comparisons: int = 1,
) -> float:
    """Return the probability that a comparison detects a true difference in the mean over tasks.

    Args:
        sizes: the size of each task.
        accuracy: the accuracy of the worse model on each task, from 0 to 1.
        difference: the accuracy of the better model minus `accuracy`, from 0 to 1 − `accuracy`.
        agreement: see `draw_luck`.
        icc: see `draw_luck`.
        comparisons: the number of comparisons for which p-values are corrected (by the first step of Holm's procedure).
    """
    centre, square, uncertain = (np.zeros(SIMULATIONS) for _ in range(3))
    for index, size in enumerate(sizes):
        generator = np.random.default_rng([_SEED, index])
        part, error, df = _statistics(generator, size, _outcomes(size.in_cluster, accuracy, difference, agreement, icc))
        centre += part
        square += error**2
        uncertain += error**4 / df
    df = np.divide(square**2, uncertain, out=np.full(SIMULATIONS, np.inf), where=uncertain > 0)
    statistic = np.abs(centre) / np.sqrt(square)
    tail = np.where(np.isinf(df), special.ndtr(-statistic), special.stdtr(np.where(np.isinf(df), 1, df), -statistic))
    return float(np.mean(2 * tail < stats.ALPHA / comparisons))


@dataclass(frozen=True)
class _Outcomes:
    """The possible outcomes of a group. Each array has one value for each outcome."""

    won: NDArray[np.int64]
    lost: NDArray[np.int64]
    probability: NDArray[np.float64]


def _outcomes(in_cluster: int, accuracy: float, difference: float, agreement: float, icc: float) -> _Outcomes:
    """Return the distribution of the numbers of documents won and lost in a group, if luck comes from `draw_luck`.

    Given the common luck of the group, its documents are independent, so the result is a mixture of multinomial
    distributions.
    """
    better, common = accuracy + difference, math.sqrt(icc)
    every = range(in_cluster + 1)
    won, lost = np.array([(won, lost) for won in every for lost in every if won + lost <= in_cluster]).T
    probability = np.zeros(len(won))
    # The common luck of the baseline is below its accuracy, between both accuracies, or above both.
    zones = np.array([accuracy, difference, max(0.0, 1 - better)])
    for index, zone in enumerate(zones):
        base = common * np.eye(3)[index] + (1 - common) * zones
        for is_right, chance in ((1, better), (0, 1 - better)):  # the other model's own common luck
            right = common * is_right + (1 - common) * better
            wins = agreement * base[1] + (1 - agreement) * (1 - base[0]) * right
            losses = (1 - agreement) * base[0] * (1 - right)
            probability += zone * chance * _multinomial(in_cluster, won, lost, wins, losses)
    return _Outcomes(won, lost, probability / probability.sum())


def _multinomial(
    n: int, won: NDArray[np.int64], lost: NDArray[np.int64], wins: float, losses: float
) -> NDArray[np.float64]:
    tied = n - won - lost
    ways = special.gammaln(n + 1) - sum(special.gammaln(count + 1) for count in (won, lost, tied))
    logs = special.xlogy(won, wins) + special.xlogy(lost, losses) + special.xlogy(tied, max(0.0, 1 - wins - losses))
    return np.asarray(np.exp(ways + logs))


def _statistics(
    generator: np.random.Generator, size: Size, outcomes: _Outcomes
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Simulate a task by drawing the number of groups with each outcome."""
    total = outcomes.won - outcomes.lost
    sums = []
    for start in range(0, SIMULATIONS, 1000):  # at a time, to bound the memory
        number = min(1000, SIMULATIONS - start)
        groups = generator.multinomial(size.clusters, outcomes.probability, size=number)
        sums.append(groups @ np.column_stack([total, outcomes.won + outcomes.lost, total**2]))
    won_minus_lost, won_or_lost, by_cluster = np.concatenate(sums).T.astype(np.float64)
    return stats.statistics_of_sums(won_minus_lost, won_or_lost, by_cluster, size.clusters, size.in_cluster)


def detectable(sizes: Sequence[Size], accuracy: float, **options: float) -> float | None:
    """Return the smallest true difference that is detected with 80% power, or None if there is none.

    Args:
        sizes: the size of each task.
        accuracy: the accuracy of the worse model.
        options: see `power`.
    """
    least, most = 0.0, 1 - accuracy
    if power(sizes, accuracy, most, **options) < stats.POWER:  # type: ignore[arg-type]
        return None
    for _ in range(_STEPS):
        middle = (least + most) / 2
        found = power(sizes, accuracy, middle, **options) >= stats.POWER  # type: ignore[arg-type]
        least, most = (least, middle) if found else (middle, most)
    return most


def needed(sizes: Sequence[Size], accuracy: float, difference: float, **options: float) -> list[Size] | None:
    """Return the task sizes that are needed to detect a difference with 80% power.

    Args:
        sizes: the sizes of the tasks. The result has the same proportions.
        accuracy: the accuracy of the worse model.
        difference: the true difference.
        options: see `power`.

    Returns:
        The size of each task, or None if more than a thousand times as many documents are needed.
    """
    low, high = 1e-3, 1e3

    def enough(factor: float) -> bool:
        scaled = [size.scaled(factor) for size in sizes]
        return power(scaled, accuracy, difference, **options) >= stats.POWER  # type: ignore[arg-type]

    if enough(low):
        return [size.scaled(low) for size in sizes]
    factor = 1.0
    while not enough(factor):  # large simulations are slow, so start with a small one
        factor *= 2
        if factor > high:
            return None
    low, high = (factor / 2, factor) if factor > 1 else (low, factor)
    for _ in range(_STEPS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return [size.scaled(high) for size in sizes]
