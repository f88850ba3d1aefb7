"""Measure whether time and memory grow linearly: 1,000, 10,000 and 100,000 documents in every step.

The documents come from all three benchmarks, with equal numbers of each type. For each size, each part of the steps
runs in a separate process. The time of a step is processor time. Its memory is the increase of the process's peak
memory. Both are compared with the values expected from the figure at 10,000 documents: 1.00 is exactly linear. At
1,000 documents, fixed costs are visible. Imports are not measured.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import Measurement, seconds_of_call
from benchmarks._processes import measured, peak_mebibytes

SIZES = (1_000, 10_000, 100_000)
_TYPES = 8  # of all three benchmarks together

Steps = Iterator[tuple[str, Callable[[], object]]]
Figures = Mapping[str, tuple[float, float]]


def measurements(sizes: Sequence[int] = SIZES) -> Iterator[Measurement]:
    """Yield the time and memory of each step at each size, next to the values expected from the middle size."""
    with tempfile.TemporaryDirectory() as name:
        folders = {size: Path(name, str(size)) for size in sizes}
        for size, folder in folders.items():
            _write_data(folder, size)
        for part in PARTS:
            yield from _lines({size: run_part(part, folder) for size, folder in folders.items()})


def run_part(part: str, folder: Path) -> Figures:
    """Run the steps of a part in a separate process, and return the seconds and mebibytes of each."""
    ended = measured([sys.executable, "-m", "benchmarks.scale", part, folder])
    figures: Figures = json.loads(ended.output.splitlines()[-1])
    return figures


def _lines(figures: Mapping[int, Figures]) -> Iterator[Measurement]:
    middle = sorted(figures)[len(figures) // 2]
    for step in figures[middle]:
        for place, (what, unit) in enumerate((("", "s"), (", memory", "MiB"))):
            for size in figures:
                linear = figures[middle][step][place] * size / middle
                yield Measurement(f"{step}{what}, {size:,}", figures[size][step][place], unit, "linear", linear)


def _write_data(folder: Path, size: int) -> None:
    from tests.support.synthetic import write_data

    write_data(folder / "data", rows_per_type=size // _TYPES)


def _run(folder: Path) -> Steps:
    from benchmarks._tasks import TASKS
    from tests.support.scripted import reference, run

    yield "whole run of lm-eval, logged", lambda: run(folder / "once", TASKS, reference, data=folder / "data")


def _tasks(folder: Path) -> Steps:
    from benchmarks._tasks import build, load_ours, respond, score
    from tests.support.scripted import reference

    tasks: list[Any] = []
    yield "loading", lambda: tasks.extend(load_ours(folder / "data"))
    yield "building requests", lambda: build(tasks)
    respond(tasks, reference)
    yield "strict-match", lambda: score(tasks, "strict-match")
    yield "flexible-extract", lambda: score(tasks, "flexible-extract")


def _plain(folder: Path) -> Steps:
    """Run lm-eval's share of the work, with tasks that use nothing of this package."""
    from benchmarks._tasks import as_without_us, build, load_plain, respond, score, write_plain_from_logs

    write_plain_from_logs(folder / "plain", folder / "once")
    tasks: list[Any] = []
    with as_without_us():
        yield "loading, plain tasks", lambda: tasks.extend(load_plain(folder / "plain"))
        yield "building requests, plain tasks", lambda: build(tasks)
    respond(tasks, lambda doc: f"Ответ: {doc['outputs']}")
    yield "exact_match, plain tasks", lambda: score(tasks, "strict-match")


def _compare(folder: Path) -> Steps:
    import mera_ru_tasks.compare.export  # noqa: F401
    from benchmarks._runs import parse_logs, write_models

    write_models(next((folder / "once").iterdir()), folder / "results", models=2)
    yield "compare two runs", command("compare", folder / "results", "--format", "json")
    yield "json.loads of their logs", lambda: parse_logs(folder / "results")


# The leaderboard requires another number of documents, so --partial is used, and --check exits with status 1.


def _submit(folder: Path) -> Steps:
    import mera_ru_tasks.data.load
    import mera_ru_tasks.submission.pack  # noqa: F401

    archive, data = folder / "submission.zip", folder / "data"
    yield "submit", command("submit", folder / "once", "--data", data, "--partial", "-o", archive)


def _check(folder: Path) -> Steps:
    import mera_ru_tasks.data.load
    import mera_ru_tasks.submission.check  # noqa: F401

    archive, data = folder / "submission.zip", folder / "data"
    yield "submit --check", command("submit", "--check", archive, "--data", data, status=1)


def command(*arguments: str | Path, status: int = 0) -> Callable[[], None]:
    """Return a `mera-ru` command that runs in this process."""
    from mera_ru_tasks.cli import main

    def run() -> None:
        sys.argv = ["mera-ru", *map(str, arguments)]
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                main()
        except SystemExit as ending:
            if (ending.code or 0) != status:
                raise RuntimeError(f"{sys.argv} ended with status {ending.code}: {said.getvalue()}") from ending

    return run


PARTS: Mapping[str, Callable[[Path], Steps]] = {
    "run": _run, "tasks": _tasks, "plain": _plain, "compare": _compare, "submit": _submit, "check": _check,
}  # fmt: skip


def _main() -> None:
    """Run the steps of the part on the command line, and print the resources of each."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    part, folder = sys.argv[1:]
    figures = {}
    for name, step in PARTS[part](Path(folder)):
        gc.collect()  # so that the garbage of one step does not count for the next one
        before = peak_mebibytes()
        figures[name] = seconds_of_call(step), peak_mebibytes() - before
    print("\n" + json.dumps(figures))


if __name__ == "__main__":
    _main()
