"""Benchmarks of speed: `python -m benchmarks [NAME…]` runs those named, or all, and prints one table.

Each module here whose name has no underscore is a benchmark. It offers one function, `measurements`, which yields a
`Measurement` for each line of the table as soon as it is known. Nothing here is a test: no figure passes or fails, each
stands beside what it is compared with, a target or the figure of another program.
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
sys.path.append(str(TESTS))  # where data, runs and models are made


@dataclass(frozen=True)
class Measurement:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: the figure, the median of several runs.
        unit: its unit.
        compared_with: what it is compared with, in words; empty for nothing.
        other: the figure of that, in the same unit.
    """

    name: str
    value: float
    unit: str
    compared_with: str = ""
    other: float | None = None

    @property
    def ratio(self) -> float | None:
        """The figure as a multiple of the other."""
        return self.value / self.other if self.other else None


def median_seconds(
    run: Callable[[], object], *, runs: int = 7, clock: Callable[[], float] = time.process_time
) -> float:
    """The median time of a call, in seconds.

    Args:
        run: what to time; it is called once more before, to warm up.
        runs: how many calls are timed.
        clock: processor time of this process by default, which other programs on the machine disturb least;
            `time.perf_counter` where waiting counts.
    """
    run()
    return statistics.median(seconds_of_call(run, clock) for _ in range(runs))


def seconds_of_call(run: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """The time of one call, in seconds, by a clock as in `median_seconds`."""
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
    """The medians of two measurements, taken in turns so many times, and once before to warm up.

    What else the machine does meets both alike, so that their ratio means something where the figures do not.
    """
    pairs = [(first(), second()) for _ in range(runs + 1)][1:]
    ours, others = zip(*pairs, strict=True)
    return statistics.median(ours), statistics.median(others)
