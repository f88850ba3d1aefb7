"""Run benchmarks, print their table, and write the figures beside it as JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import platform
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.table import Table

import mera_ru_tasks
from benchmarks import Measurement

FOLDER = Path(__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if "_" not in path.stem)


def main() -> None:
    """Run the benchmarks that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"benchmarks to run, of {', '.join(NAMES)}; all if none"
    )
    parser.add_argument("--json", type=Path, default=FOLDER / "results.json", help="where the figures go (%(default)s)")
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(NAMES):
        parser.error(f"unknown benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    results = {name: run(name) for name in arguments.names or NAMES}
    show(results)
    write(results, arguments.json)


def run(name: str) -> list[Measurement]:
    """Run one benchmark."""
    return list(importlib.import_module(f"benchmarks.{name}").measurements())


def show(results: dict[str, list[Measurement]]) -> None:
    """Print the table of all measurements."""
    table = Table("benchmark", "measured", title=f"mera-ru-tasks {mera_ru_tasks.__version__}, {machine()}")
    table.add_column("figure", justify="right")
    table.add_column("unit")
    table.add_column("compared with")
    table.add_column("ratio", justify="right")
    for name, measurements in results.items():
        for m in measurements:
            other = f"{m.compared_with} {number(m.other)}" if m.other is not None else ""
            table.add_row(name, m.name, number(m.value), m.unit, other, f"{m.ratio:.2f}" if m.ratio is not None else "")
    Console().print(table)


def number(value: float) -> str:
    """A figure with three digits that count, or all before the decimal point."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def machine() -> str:
    """What the figures were measured on."""
    return f"Python {platform.python_version()}, {platform.machine()} {platform.system()}"


def write(results: dict[str, Sequence[Measurement]], path: Path) -> None:
    """Write all measurements as JSON, one object for each benchmark's name."""
    figures = {
        name: [{**asdict(measurement), "ratio": measurement.ratio} for measurement in measurements]
        for name, measurements in results.items()
    }
    content = {"version": mera_ru_tasks.__version__, "machine": machine(), "benchmarks": figures}
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    print(f"Figures: {path}")


if __name__ == "__main__":
    main()
