"""Whether time and memory grow no faster than the data: 1,000, 10,000 and 100,000 documents through every step.

The documents are those of all three benchmarks, in equal numbers of each type. For each size there are several
processes, and in each the steps of one part follow each other. A step's time is processor time; its memory is by how
much the process's memory at the highest rose. Both stand beside what the figure at 10,000 documents would make them:
1.00 is exactly linear, and at 1,000 what is paid once shows. Imports are paid before.
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
    """Yield time and memory of each step at each size, beside what the middle size would make it."""
    with tempfile.TemporaryDirectory() as name:
        folders = {size: Path(name, str(size)) for size in sizes}
        for size, folder in folders.items():
            _write_data(folder, size)
        for part in PARTS:
            yield from _lines({size: run_part(part, folder) for size, folder in folders.items()})


def run_part(part: str, folder: Path) -> Figures:
    """Run a part's steps in a process of their own; for each its seconds and mebibytes."""
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
    """The share of lm-eval, by tasks in which nothing is ours."""
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


# The data are not of the size that the leaderboard asks for: hence --partial, and the status 1 of --check.


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
    """Do the steps of one part, named on the command line with its folder, and print what each took."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    part, folder = sys.argv[1:]
    figures = {}
    for name, step in PARTS[part](Path(folder)):
        gc.collect()  # what a step leaves is not the next one's
        before = peak_mebibytes()
        figures[name] = seconds_of_call(step), peak_mebibytes() - before
    print("\n" + json.dumps(figures))


if __name__ == "__main__":
    _main()
