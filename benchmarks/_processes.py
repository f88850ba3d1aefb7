"""Processes of their own, measured as a user meets them: with their start and all imports.

Each is started by a small Python, this file run as a program: Linux counts the memory of the process that starts
another into what the other used at the highest.
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
    """A process that came to its end.

    Attributes:
        seconds: from its start to its end.
        mebibytes: its memory at the highest.
        output: what it wrote to standard output.
    """

    seconds: float
    mebibytes: float
    output: str


def measured(command: Sequence[str | Path]) -> Ended:
    """Run a command to its end.

    Raises:
        RuntimeError: it ended with another status than 0; the message ends in its last words.
    """
    words = [sys.executable, __file__, *map(str, command)]
    ended = subprocess.run(words, capture_output=True, text=True, env=environment())
    if ended.returncode:
        raise RuntimeError(f"{words[2:]} ended with status {ended.returncode}: {ended.stdout}{ended.stderr[-2000:]}")
    output, _, figures = ended.stdout.rstrip("\n").rpartition("\n")
    return Ended(**json.loads(figures), output=output)


def median_of(command: Sequence[str | Path], *, runs: int = 3, makes: Path | None = None) -> Ended:
    """The medians of several runs of a command, each as `measured`; the output is the last run's.

    Args:
        command: what is run.
        runs: how often.
        makes: a new file that it writes, which is deleted between the runs.
    """
    all_ended = []
    for _ in range(runs):
        if makes:
            makes.unlink(missing_ok=True)
        all_ended.append(measured(command))
    seconds = statistics.median(ended.seconds for ended in all_ended)
    return Ended(seconds, statistics.median(ended.mebibytes for ended in all_ended), all_ended[-1].output)


def peak_mebibytes() -> float:
    """The memory of this process at the highest so far."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _MAXRSS_PER_MEBIBYTE


def environment() -> Mapping[str, str]:
    """The environment of what is measured: it must not wait for the hub."""
    return {**os.environ, "HF_HUB_OFFLINE": "1"}


def _main() -> None:
    """Run the command that the arguments are; print what it used as the last line, and end with its status."""
    start = time.perf_counter()
    with subprocess.Popen(sys.argv[1:]) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    print("\n" + json.dumps({"seconds": seconds, "mebibytes": usage.ru_maxrss / _MAXRSS_PER_MEBIBYTE}))
    raise SystemExit(process.returncode)


if __name__ == "__main__":
    _main()
