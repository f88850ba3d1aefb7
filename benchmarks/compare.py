"""How long ten runs of all 1,609 documents take to compare, and how large their report is.

The runs are made of synthetic documents and responses of about 1,500 characters, as models write that reason before
they answer. Each call is a process of its own, as a user's is, with all imports.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement
from benchmarks._processes import MERA_RU, Ended, median_of

MODELS = 10
RESPONSE = 1_500  # characters, on average


def measurements() -> Iterator[Measurement]:
    """Yield times and memory of the two calls, and the report's size beside that of the responses in it."""
    from benchmarks._runs import run_once, write_models
    from tests.support.synthetic import write_data

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        once = run_once(folder / "once", write_data(folder / "data"))
        size = write_models(once, folder / "results", models=MODELS, explain=_explanation)
        command = [*MERA_RU, "compare", folder / "results"]
        yield from _lines("compare ten runs", median_of([*command, "--format", "json"]), 5)
        report = folder / "report.html"
        yield from _lines("report of ten runs", median_of([*command, "-o", report], makes=report), 15)
        yield Measurement("the report's size", report.stat().st_size / 1e6, "MB", "twice the responses", 2 * size / 1e6)


def _lines(name: str, ended: Ended, target: float) -> Iterator[Measurement]:
    yield Measurement(name, ended.seconds, "s", "target", target)
    yield Measurement(f"{name}, memory", ended.mebibytes, "MiB", "target", 1024)


def _explanation(maker: random.Random) -> str:
    words = (maker.choice(_WORDS) for _ in range(maker.randint(RESPONSE // 14, RESPONSE // 5)))
    return " ".join(words).capitalize() + ".\n\n"


_WORDS = [
    "".join(maker.choice("бвгдзклмнпрст") + maker.choice("аеиоуыя") for _ in range(maker.randint(2, 5)))
    for maker in [random.Random(0)]
    for _ in range(5000)
]
