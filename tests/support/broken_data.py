"""Small datasets with errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark
from tests.support.synthetic import write_data

# A broken row: the value to set at a path of keys in test row 2 (id 2), or a function that changes the row.
Change = Callable[[list[Any], list[Any]], Any]


def put(*path_and_value: Any) -> Change:
    *path, last, value = path_and_value

    def change(test, shots):
        place = test[1]
        for key in path:
            place = place[key]
        place[last] = value

    return change


def broken(root: Path, benchmark: Benchmark, change: Change, rows_per_type: int = 4) -> Path:
    """Write a small dataset with a change, and return the benchmark's folder."""
    write_data(root, rows_per_type=rows_per_type, benchmarks=(benchmark,))
    (folder,) = root.iterdir()
    test, shots = (json.loads((folder / f"{split}.json").read_text())["data"] for split in ("test", "shots"))
    change(test, shots)
    for split, rows in (("test", test), ("shots", shots)):
        (folder / f"{split}.json").write_text(json.dumps({"data": rows}))
    return folder


def report_of(outcome) -> dict[str, Any]:
    (report,) = json.loads(outcome.out)
    return report
