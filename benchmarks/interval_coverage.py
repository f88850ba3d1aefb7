"""Simulate how often the intervals of paired differences cover the true value, and how often their tests reject.

`python -m benchmarks.interval_coverage` prints the table in SIMULATIONS.md, from 10,000 evaluations for each cell.

Two models answer the same documents. Score and luck decide whether an answer is correct. On half of the documents, both
models have the same luck. Within a cluster, documents share luck, so that the luck of two documents has the correlation
ICC. f1 and judge scores are graded: luck gives a part of the score.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from benchmarks import print_simulated
from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.power import draw_luck

Array = NDArray[np.float64]

SIMULATIONS = 10_000
ACCURACIES = (0.02, 0.1, 0.3, 0.7, 0.98)
SHARED = 0.5  # the share of documents on which both models have the same luck
GAP = 0.1
_MANY = 400_000  # random numbers drawn at once


@dataclass(frozen=True)
class Cell:
    """One kind of evaluation.

    Attributes:
        metric: `exact_match`, `group_exact_match`, `f1` or `judge_score`.
        clusters: the number of clusters, or of independent documents.
        in_cluster: the number of documents in a cluster.
        icc: the correlation of the luck of two documents in a cluster.
        accuracy: the true score of the baseline.
        gap: the true difference of the other model.
    """

    metric: str
    clusters: int
    in_cluster: int
    icc: float
    accuracy: float
    gap: float

    def __str__(self) -> str:
        return f"{self.metric} {self.design} {self.accuracy} {self.gap:+.1f}"

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.clusters * self.in_cluster

    @property
    def design(self) -> str:
        """The documents in words: `n = 30`, or `30 × 3, ICC 0.5`."""
        if self.metric == "group_exact_match":
            return f"{self.clusters} groups"
        return f"{self.clusters} × {self.in_cluster}, ICC {self.icc}" if self.in_cluster > 1 else f"n = {self.clusters}"

    def draw(self, generator: np.random.Generator, number: int) -> tuple[Array, Array]:
        """Draw the values of the model and of the baseline, with the shape (number, clusters, in_cluster)."""
        base, other = draw_luck(generator, (number, self.clusters, self.in_cluster), SHARED, self.icc)
        return _values(self.metric, other, self.accuracy + self.gap), _values(self.metric, base, self.accuracy)

    def intervals(self, values: Array, baseline: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Return the ends of the intervals, and True for each test that rejects, all with the shape (number,)."""
        differences = values - baseline
        mean = differences.mean((1, 2))
        centre, error, df = stats.paired_statistics(differences)
        half = stats.quantile(df) * error
        low, high = np.minimum(np.maximum(centre - half, -1), mean), np.maximum(np.minimum(centre + half, 1), mean)
        return low, high, np.abs(centre) > half


def _values(metric: str, luck: Array, score: float) -> Array:
    """Convert luck to values with the mean `score`."""
    if metric in ("exact_match", "group_exact_match"):
        return (luck < score) * 1.0
    partly = min(score, 1 - score)
    grades = (0.5,) if metric == "judge_score" else (0.8, 2 / 3, 0.5, 0.4)
    right = score - partly * sum(grades) / len(grades)
    place = np.floor((luck - right) / partly * len(grades)).astype(int)
    return np.select([place < 0, place >= len(grades)], [1.0, 0.0], np.take(grades, np.clip(place, 0, len(grades) - 1)))


def _cells() -> Iterator[Cell]:
    independent = [(n, 1, 0.0) for n in (12, 30, 100, 500)]
    clustered = [(number, 3, icc) for number in (4, 10, 30, 201) for icc in (0.0, 0.5)]
    designs = {"exact_match": independent + clustered, "group_exact_match": [(n, 1, 0.0) for n in (10, 30, 201)]}
    for metric in ("exact_match", "group_exact_match", "f1", "judge_score"):
        for design in designs.get(metric, independent + clustered):
            for accuracy in ACCURACIES:
                for gap in (0.0, GAP if accuracy < 0.9 else -GAP):
                    yield Cell(metric, *design, accuracy, gap)


CELLS = tuple(_cells())


@dataclass(frozen=True)
class Found:
    """The shares of intervals that cover the true value, of tests that reject, and of McNemar tests that reject."""

    coverage: float
    rejected: float
    mcnemar: float | None


def simulate(cell: Cell, simulations: int = SIMULATIONS, seed: int = 0) -> Found:
    """Simulate evaluations of one kind."""
    generator = np.random.default_rng([seed, cell.documents, round(cell.accuracy * 100)])
    covered = rejected = mcnemar = 0.0
    left = simulations
    while left:
        number = min(left, max(1, _MANY // cell.documents))
        values, baseline = cell.draw(generator, number)
        low, high, found = cell.intervals(values, baseline)
        covered += np.sum((low <= cell.gap + 1e-9) & (cell.gap - 1e-9 <= high))
        rejected += found.sum()
        won, lost = ((values > baseline).sum((1, 2)), (values < baseline).sum((1, 2)))
        mcnemar += np.sum(2 * special.bdtr(np.minimum(won, lost), won + lost, 0.5) < stats.ALPHA)
        left -= number
    exact = cell.metric in ("exact_match", "group_exact_match") and cell.in_cluster == 1
    return Found(covered / simulations, rejected / simulations, mcnemar / simulations if exact else None)


def table(cells: Sequence[Cell], simulations: int) -> Iterator[str]:
    """Yield the lines of a Markdown table: the lowest and mean coverage over accuracies, and the rejection rates."""
    yield "| metric | documents | coverage: lowest | mean | false positives: highest | power at ±0.1 | exact McNemar |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for metric, design in dict.fromkeys((cell.metric, cell.design) for cell in cells):
        own = [cell for cell in cells if (cell.metric, cell.design) == (metric, design)]
        found: list[tuple[Cell, Found]] = [(cell, simulate(cell, simulations)) for cell in own]
        mid = [one.coverage for cell, one in found if 0.1 <= cell.accuracy <= 0.9]
        power = np.mean([one.rejected for cell, one in found if cell.gap])
        exact: list[Any] = [one.mcnemar for cell, one in found if cell.gap and one.mcnemar is not None]
        tests = f"{max(one.rejected for cell, one in found if not cell.gap):.3f} | {power:.2f}"
        if own[0].clusters < stats.FEWEST_CLUSTERS:
            tests = "no verdict | no verdict"
        yield (
            f"| {metric} | {design} | {min(one.coverage for _, one in found):.3f} | {np.mean(mid):.3f} | {tests} "
            f"| {f'{np.mean(exact):.2f}' if exact else '–'} |"
        )


if __name__ == "__main__":
    print_simulated(__doc__, table, CELLS, SIMULATIONS)
