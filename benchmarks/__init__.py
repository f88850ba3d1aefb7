"""Speed benchmarks: `python -m benchmarks [NAME…]` runs the named ones, or all, and prints one table.

Each module here whose name has no leading underscore is a benchmark. Its function `measurements` yields a `Measurement`
for each line of the table as soon as it is known. Benchmarks are not tests: no figure passes or fails. Each figure is
shown next to a target or a figure of another program.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path.append(str(TESTS))  # helpers that create data, runs and models


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: the figure, which is the median of several runs.
        unit: the unit of both figures.
        compared_with: a description of the other figure; empty if there is none.
        other: the other figure.
    """

    name: str
    value: float
    unit: str
    compared_with: str = ""
    other: float | None = None

    @property
    def ratio(self) -> float | None:
        """The figure as a multiple of the other one."""
        return self.value / self.other if self.other else None


def median_seconds(
    run: Callable[[], object], *, runs: int = 7, clock: Callable[[], float] = time.process_time
) -> float:
    """Return the median time of a call, in seconds.

    Args:
        run: the call to time. An additional call is made before, to warm up.
        runs: the number of timed calls.
        clock: the clock. By default, the processor time of this process, on which other programs have the least effect.
            Use `time.perf_counter` if waiting counts.
    """
    run()
    return statistics.median(seconds_of_call(run, clock) for _ in range(runs))


def seconds_of_call(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Return the time of one call, in seconds. For the clock, see `median_seconds`."""
    start = clock()
    run()
    return clock() - start


def print_simulated(
    description: str, table: Callable[[Sequence[Any], int], Iterable[str]], cases: Sequence[Any], simulations: int
) -> None:
    """Print a table of simulations. The option `--simulations` replaces their default number.

    Args:
        description: the docstring of the module, whose first line is the help text.
        table: a function that returns the lines of the table.
        cases: the cases to simulate.
        simulations: the default number of simulations for each case.
    """
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--simulations", type=int, default=simulations)
    for line in table(cases, parser.parse_args().simulations):
        print(line, flush=True)


def in_turns(first: Callable[[], float], second: Callable[[], float], *, runs: int) -> tuple[float, float]:
    """Return the medians of two alternating measurements, after one additional pair to warm up.

    Other load on the machine affects both measurements equally, so their ratio is reliable even if the figures are not.
    """
    pairs = [(first(), second()) for _ in range(runs + 1)][1:]
    ours, others = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(others)
