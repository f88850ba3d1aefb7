"""Measure how fast a run of all 1,609 documents is packed for the leaderboard, and how fast an archive is checked.

Each call is a new process, as for a user, with all imports. Ids and questions are checked against the data. The times
are compared with Python's zip of the same logs.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement
from benchmarks._processes import MERA_RU, median_of


def measurements() -> Iterator[Measurement]:
    """Yield the times of packing and checking."""
    from benchmarks._runs import run_once
    from tests.support.synthetic import write_data

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_data(folder / "data")
        logs = run_once(folder / "results", data)
        archive = folder / "submission.zip"
        zipped = median_of([sys.executable, "-m", "zipfile", "-c", folder / "logs.zip", logs])
        packed = median_of([*MERA_RU, "submit", logs, "--data", data, "-o", archive], makes=archive)
        yield Measurement("submit a whole run", packed.seconds, "s", "zip of its logs", zipped.seconds)
        checked = median_of([*MERA_RU, "submit", "--check", archive, "--data", data])
        yield Measurement("submit --check", checked.seconds, "s", "zip of its logs", zipped.seconds)
