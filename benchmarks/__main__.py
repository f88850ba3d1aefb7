"""Run benchmarks, print their table, and save the figures as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

import mera_ru_tasks
from benchmarks import Measurement

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "_" not in path.stem)
_WIDTH = 100  # if standard output is not a terminal

Results = dict[str, list[Measurement]]


def main() -> None:
    """Run the benchmarks named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run, of {', '.join(NAMES)}; all if none"
    )
    parser.add_argument(
        "--json", type=Path, default=FOLDER / "results.json", help="the file for the figures (default: %(default)s)"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    _silence_what_is_measured()
    results: Results = {}
    for name in arguments.names or NAMES:
        results[name] = list(run(name))
        write(results, arguments.json)
    show(results)
    print(f"Figures: {arguments.json}")


def _silence_what_is_measured() -> None:
    os.environ |= {"TQDM_DISABLE": "1", "HF_HUB_OFFLINE": "1"}
    logging.getLogger("lm_eval").setLevel(logging.ERROR)


def run(name: str) -> Iterator[Measurement]:
    """Run one benchmark, and report progress on standard error."""
    print(f"Running {name} …", file=sys.stderr, flush=True)
    for measurement in importlib.import_module(f"benchmarks.{name}").measurements():
        print(f"  {measurement.name}: {figure(measurement)}", file=sys.stderr, flush=True)
        yield measurement


def show(results: Results) -> None:
    """Print the table of all measurements."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=_WIDTH)
    table = Table("measured", title=f"mera-ru-tasks {mera_ru_tasks.__version__}, {machine()}", box=box.SIMPLE_HEAD)
    table.add_column("figure", justify="right")
    table.add_column("beside")
    table.add_column("ratio", justify="right")
    for name, measurements in results.items():
        table.add_section()
        table.add_row(name.upper(), style="bold")
        for m in measurements:
            other = f"{m.compared_with} {number(m.other)}" if m.other is not None else ""
            table.add_row(m.name, figure(m), other, f"{m.ratio:.2f}" if m.ratio is not None else "")
    console.print(table)


def figure(measurement: Measurement) -> str:
    """Return the name of a measurement, with its unit."""
    return f"{number(measurement.value)} {measurement.unit}"


def number(value: float) -> str:
    """Format a figure with three significant digits, or with all digits before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> str:
    """Describe the machine and the versions."""
    return f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()} {platform.system()}"


def write(results: Results, path: Path) -> None:
    """Write all measurements as JSON, by the name of the benchmark."""
    figures = {
        name: [{**asdict(measurement), "ratio": measurement.ratio} for measurement in measurements]
        for name, measurements in results.items()
    }
    content = {"version": mera_ru_tasks.__version__, "machine": machine(), "benchmarks": figures}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
