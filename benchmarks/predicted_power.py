"""Compare the power that `mera-ru power` predicts with that of simulated evaluations.

`python -m benchmarks.predicted_power` prints the table in SIMULATIONS.md, from 10,000 simulated evaluations for each
row. In each evaluation, every document is drawn and compared by the test that `mera-ru compare` uses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks import print_simulated
from mera_ru_tasks.compare import power, stats
from mera_ru_tasks.compare.power import MERA_RU, Size, draw_luck

SIMULATIONS = 10_000
_MANY = 400_000  # documents drawn at once


@dataclass(frozen=True)
class Plan:
    """A comparison with a predicted power. For the fields, see `power.power`."""

    sizes: Sequence[Size]
    accuracy: float
    difference: float
    agreement: float = 0.5
    icc: float = 0.2

    def __str__(self) -> str:
        return f"{self.documents}, {self.accuracy} {self.difference:+}, {self.agreement}, {self.icc}"

    @property
    def documents(self) -> str:
        """The sizes of the tasks, in words."""
        return " + ".join(map(str, self.sizes)).replace("x", " × ")

    def predicted(self) -> float:
        """Return the predicted power."""
        return power.power(self.sizes, self.accuracy, self.difference, agreement=self.agreement, icc=self.icc)

    def simulated(self, simulations: int = SIMULATIONS, seed: int = 0) -> float:
        """Return the share of simulated evaluations in which the difference is detected."""
        generator = np.random.default_rng([seed, 7])
        found, left = 0, simulations
        while left:
            number = min(left, max(1, _MANY // sum(size.clusters * size.in_cluster for size in self.sizes)))
            parts = [self._draw(generator, number, size) for size in self.sizes]
            centre = sum(part[0] for part in parts)
            square = sum(part[1] ** 2 for part in parts)
            uncertain = sum(part[1] ** 4 / part[2] for part in parts)
            for middle, variance, unsure in zip(centre, square, uncertain + np.zeros(number), strict=True):
                df = variance**2 / unsure if unsure else float("inf")
                found += stats.p_value(middle / variance**0.5, df) < stats.ALPHA
            left -= number
        return found / simulations

    def _draw(
        self, generator: np.random.Generator, number: int, size: Size
    ) -> tuple[stats.Values, stats.Values, float]:
        base, other = draw_luck(generator, (number, size.clusters, size.in_cluster), self.agreement, self.icc)
        return stats.paired_statistics((other < self.accuracy + self.difference) * 1.0 - (base < self.accuracy))


PLANS = (
    *(Plan([Size(n)], 0.02, gap) for n, gap in ((100, 0.08), (500, 0.03))),
    *(Plan([Size(n)], 0.3, gap) for n, gap in ((30, 0.25), (100, 0.1), (100, 0.15), (500, 0.06))),
    *(Plan([Size(n)], 0.7, gap) for n, gap in ((30, 0.25), (100, 0.1), (500, 0.06))),
    Plan([Size(500)], 0.9, 0.03),
    Plan([Size(100)], 0.5, 0.1, agreement=0.9),
    Plan([Size(100)], 0.5, 0.15, agreement=0.0),
    *(Plan([Size(number, 3)], 0.5, gap, icc=icc) for number, gap in ((10, 0.3), (30, 0.15)) for icc in (0.0, 0.5)),
    *(Plan([Size(201, 3)], accuracy, 0.05, icc=0.5) for accuracy in (0.02, 0.3, 0.7)),
    Plan([Size(20, 10)], 0.5, 0.15),
    *(Plan(MERA_RU, accuracy, gap) for accuracy, gap in ((0.1, 0.02), (0.5, 0.03), (0.5, 0.04), (0.9, 0.02))),
    Plan([Size(60), Size(60), Size(20, 3)], 0.5, 0.1),
)


def table(plans: Sequence[Plan], simulations: int) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield "| documents | accuracy | difference | agreement | ICC | predicted | simulated |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    for plan in plans:
        groups = any(size.in_cluster > 1 for size in plan.sizes)
        yield (
            f"| {plan.documents} | {plan.accuracy} | {plan.difference} | {plan.agreement} "
            f"| {plan.icc if groups else '–'} | {plan.predicted():.3f} | {plan.simulated(simulations):.3f} |"
        )


if __name__ == "__main__":
    print_simulated(__doc__, table, PLANS, SIMULATIONS)
