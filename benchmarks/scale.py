"""Whether time and memory grow no faster than the data: 1,000, 10,000 and 100,000 documents through every step.

The documents are those of all three benchmarks, in equal numbers of each type. Each step at each size is a process of
its own, which does what comes before the step and then measures it alone: its processor time, and by how much the
process's memory at the highest rose. Both stand beside what the figure at 10,000 documents would make them: 1.00 is
exactly linear, and below it is what is paid once. The steps called lm-eval's are it alone, on plain tasks of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import logging
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import Measurement, seconds_of_call
from benchmarks._processes import measured, peak_mebibytes

SIZES = (1_000, 10_000, 100_000)
_TYPES = 8  # of all three benchmarks together

Step = Callable[[], object]


def measurements(sizes: Sequence[int] = SIZES) -> Iterator[Measurement]:
    """Yield time and memory of each step at each size, beside what the middle size would make it."""
    middle = sizes[len(sizes) // 2]
    with tempfile.TemporaryDirectory() as name:
        folders = {size: Path(name, str(size)) for size in sizes}
        for size, folder in folders.items():
            folder.mkdir()
            measured([sys.executable, "-m", "benchmarks.scale", "write", folder, str(size)])
        for step in STEPS:
            figures = {size: _measured_step(step, folder) for size, folder in folders.items()}
            for name, unit in (("", "s"), (", memory", "MiB")):
                for size in sizes:
                    linear = figures[middle][unit] * size / middle
                    yield Measurement(f"{step}{name}, {size:,}", figures[size][unit], unit, "linear", linear)


def _measured_step(step: str, folder: Path) -> Mapping[str, float]:
    ended = measured([sys.executable, "-m", "benchmarks.scale", step, folder])
    figures: Mapping[str, float] = json.loads(ended.output.splitlines()[-1])
    return figures


def _write(folder: Path, size: int) -> None:
    """Write data, plain tasks of them, and the logs of two models."""
    from synthetic import write_data

    from benchmarks._runs import run_once, write_models
    from benchmarks._tasks import build, load_ours, plain_documents, write_plain

    data = write_data(folder / "data", rows_per_type=size // _TYPES)
    tasks = load_ours(data)
    build(tasks)
    write_plain(folder / "plain", plain_documents(tasks))
    write_models(run_once(folder / "once", data), folder / "results", models=2)


def _loading(folder: Path) -> Step:
    from benchmarks._tasks import load_ours

    return lambda: load_ours(folder / "data")


def _building(folder: Path) -> Step:
    from benchmarks._tasks import build

    tasks = _loading(folder)()
    return lambda: build(tasks)


def _scoring(pipeline: str) -> Callable[[Path], Step]:
    def prepared(folder: Path) -> Step:
        from scripted import reference

        from benchmarks._tasks import build, load_ours, respond, score

        tasks = load_ours(folder / "data")
        build(tasks)
        respond(tasks, reference)
        return lambda: score(tasks, pipeline)

    return prepared


def _command(module: str, *arguments: str) -> Callable[[Path], Step]:
    """A `mera-ru` command in this process, after its imports; an argument that begins with @ is in the folder."""

    def prepared(folder: Path) -> Step:
        from mera_ru_tasks.cli import main

        importlib.import_module(module)
        sys.argv = ["mera-ru", *(str(folder / part[1:]) if part.startswith("@") else part for part in arguments)]

        def run() -> None:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
                main()

        return run

    return prepared


def _plain_loading(folder: Path) -> Step:
    from benchmarks._tasks import as_without_us, build, load_plain

    def run() -> None:
        with as_without_us():
            build(load_plain(folder / "plain"))

    return run


def _whole_run(folder: Path) -> Step:
    from scripted import reference, run

    from benchmarks._tasks import TASKS

    return lambda: run(folder / "again", TASKS, reference, data=folder / "data")


STEPS: Mapping[str, Callable[[Path], Step]] = {
    "loading": _loading,
    "building requests": _building,
    "strict-match": _scoring("strict-match"),
    "flexible-extract": _scoring("flexible-extract"),
    "compare": _command("mera_ru_tasks.comparison.export", "compare", "@results", "--format", "json"),
    "submit": _command(
        "mera_ru_tasks.submission.draft",
        "submit", "@results/org__model-0", "--data", "@data", "--partial", "-o", "@submission.zip",
    ),
    "submit --check": _command(
        "mera_ru_tasks.submission.verify", "submit", "--check", "@submission.zip", "--data", "@data"
    ),
    "lm-eval: plain tasks loaded, built": _plain_loading,
    "lm-eval: whole run of our tasks": _whole_run,
}  # fmt: skip


def _main() -> None:
    """Do one step, named on the command line with its folder, and print what it took."""
    logging.getLogger("lm_eval").setLevel(logging.ERROR)
    step, folder, *size = sys.argv[1:]
    if step == "write":
        _write(Path(folder), int(size[0]))
        return
    run = STEPS[step](Path(folder))
    before = peak_mebibytes()
    seconds = seconds_of_call(run)
    print(json.dumps({"s": seconds, "MiB": peak_mebibytes() - before}))


if __name__ == "__main__":
    _main()
