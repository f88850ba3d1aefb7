"""Measure new processes as a user would, with their start and all imports.

A small Python process, which runs this file as a program, starts each measured process. Linux includes the memory of
the parent process in the peak memory of a process.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MERA_RU = (sys.executable, "-c", "from mera_ru_tasks.cli import main; main()")

_MAXRSS_PER_MEBIBYTE = 2**20 if sys.platform == "darwin" else 2**10


@dataclass(frozen=True)
class Ended:
    """A completed process.

    Attributes:
        seconds: the time from its start to its end.
        mebibytes: its peak memory.
        output: its standard output.
    """

    seconds: float
    mebibytes: float
    output: str


def measured(command: Sequence[str | Path]) -> Ended:
    """Run a command and wait for its end.

    Raises:
        RuntimeError: its exit status is not 0. The message contains the end of its output.
    """
    words = [sys.executable, __file__, *map(str, command)]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment())
    if ended.returncode:
        raise RuntimeError(f"{words[2:]} ended with status {ended.returncode}: {ended.stdout}{ended.stderr[-2000:]}")
    output, _, figures = ended.stdout.rstrip("\n").rpartition("\n")
    return Ended(**json.loads(figures), output=output)


def median_of(command: Sequence[str | Path], *, runs: int = 3, makes: Path | None = None) -> Ended:
    """Return the medians of several runs of a command (see `measured`), with the output of the last run.

    Args:
        command: the command.
        runs: the number of runs.
        makes: a file that the command creates. It is deleted between runs.
    """
    all_ended = []
    for _ in range(runs):
        if makes:
            makes.unlink(missing_ok=True)
        all_ended.append(measured(command))
    seconds = statistics.median(ended.seconds for ended in all_ended)
    return Ended(seconds, statistics.median(ended.mebibytes for ended in all_ended), all_ended[-1].output)


def peak_mebibytes() -> float:
    """Return the peak memory of this process so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MAXRSS_PER_MEBIBYTE


def environment() -> Mapping[str, str]:
    """Return the environment of measured commands, which must not wait for the hub."""
    return {**os.environ, "HF_HUB_OFFLINE": "1"}


def _main() -> None:
    """Run the command in the arguments, print its resource usage on the last line, and exit with its status."""
    start = time.perf_counter()
    with subprocess.Popen(sys.argv[1:]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    print("\n" + json.dumps({"seconds": seconds, "mebibytes": usage.ru_maxrss / _MAXRSS_PER_MEBIBYTE}))
    raise SystemExit(process.returncode)


if __name__ == "__main__":
    _main()
