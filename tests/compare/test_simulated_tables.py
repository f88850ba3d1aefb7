"""The tables in benchmarks/SIMULATIONS.md equal new simulations and stay within their limits."""

import math

import numpy as np
import pytest

from benchmarks import interval_coverage, predicted_power
from benchmarks.interval_coverage import CELLS, simulate
from benchmarks.predicted_power import PLANS
from mera_ru_tasks.compare.stats import FEWEST_CLUSTERS
from tests.support.documents import REPOSITORY


@pytest.mark.nightly
def test_the_page_holds_the_tables_that_the_scripts_print():
    printed = [
        *list(interval_coverage.table(CELLS, interval_coverage.SIMULATIONS))[2:],
        *list(predicted_power.table(PLANS, predicted_power.SIMULATIONS))[2:],
    ]
    lines = (REPOSITORY / "benchmarks/SIMULATIONS.md").read_text(encoding="utf-8").splitlines()
    assert set(printed) <= set(lines)


@pytest.mark.nightly
@pytest.mark.parametrize("design", dict.fromkeys((cell.metric, cell.design) for cell in CELLS), ids=str)
def test_every_cell_keeps_its_bars_in_10000_simulations(design):
    cells = [cell for cell in CELLS if (cell.metric, cell.design) == design]
    found = {cell: simulate(cell) for cell in cells}
    noise = 2 * math.sqrt(0.05 * 0.95 / interval_coverage.SIMULATIONS)
    for cell, one in found.items():
        assert one.coverage >= (0.93 if cell.clusters >= 30 else 0.90) - noise, cell
        if cell.gap == 0 and cell.clusters >= FEWEST_CLUSTERS:
            assert one.rejected <= 0.06 + noise, cell
    if cells[0].documents >= 100:  # intervals that are too wide would also pass
        assert np.mean([one.coverage for cell, one in found.items() if 0.1 <= cell.accuracy <= 0.9]) <= 0.97


@pytest.mark.nightly
@pytest.mark.parametrize("plan", PLANS, ids=str)
def test_predicted_and_simulated_power_agree_within_3_points(plan):
    assert abs(plan.predicted() - plan.simulated()) < 0.03
