"""How long ten runs of all 1,609 documents take to compare, how large their report is, and how it scrolls.

The runs are made of synthetic documents and responses of about 1,500 characters, as models write that reason before
they answer. Each call is a process of its own, as a user's is, with all imports.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import Measurement

MODELS = 10
TASKS = ("enantiosemy", "riddles_closed", "russian_regions")
RESPONSE = 1_500  # characters, on average

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))


def measurements() -> Iterator[Measurement]:
    """Yield times and memory of the two calls, and the report's size beside that of the responses in it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        size = _write_runs(folder)
        seconds, memory = _call(folder, "--format", "json")
        yield Measurement("compare ten runs", seconds, "s", "target", 5)
        yield Measurement("compare ten runs, memory", memory, "MiB", "target", 1024)
        report = folder / "report.html"
        seconds, memory = _call(folder, "-o", str(report))
        yield Measurement("report of ten runs", seconds, "s", "target", 15)
        yield Measurement("report of ten runs, memory", memory, "MiB", "target", 1024)
        yield Measurement("the report's size", report.stat().st_size / 1e6, "MB", "twice the responses", 2 * size / 1e6)


def _call(folder: Path, *arguments: str) -> tuple[float, float]:
    """Seconds and mebibytes of one `mera-ru compare`."""
    command = [sys.executable, "-c", "from mera_ru_tasks.cli import main; main()", "compare", str(folder / "results")]
    start = time.perf_counter()
    with subprocess.Popen([*command, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"mera-ru compare ended with status {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss / (1024 if sys.platform != "darwin" else 2**20)


def _write_runs(folder: Path) -> int:
    """Run lm-eval once on synthetic data, and write its logs for ten models; returns the responses' bytes."""
    from scripted import reference, run
    from synthetic import write_data

    data = write_data(folder / "data")
    run(folder / "once", TASKS, reference, data=data)
    once = next((folder / "once").iterdir())
    size = 0
    for number in range(MODELS):
        target = folder / "results" / f"org__model-{number}"
        target.mkdir(parents=True)
        for file in once.iterdir():
            if file.suffix == ".json":
                content = json.loads(file.read_text(encoding="utf-8"))
                (target / file.name).write_text(json.dumps({**content, "model_name": f"org/model-{number}"}))
            else:
                size += _write_log(file, target / file.name, random.Random(number), skill=0.2 + number * 0.06)
    return size


def _write_log(source: Path, target: Path, maker: random.Random, skill: float) -> int:
    size = 0
    responses: dict[int, tuple[str, int]] = {}
    with target.open("w", encoding="utf-8") as stream:
        for line in source.open(encoding="utf-8"):
            row = json.loads(line)
            if row["doc_id"] not in responses:
                right = int(maker.random() < skill)
                responses[row["doc_id"]] = _response(maker) + (row["resps"][0][0] if right else "Ответ: нет"), right
                size += len(responses[row["doc_id"]][0].encode())
            text, right = responses[row["doc_id"]]
            row |= {"resps": [[text]], "filtered_resps": [text if row["filter"] == "strict-match" else text[-9:]]}
            row |= {name: _score(row[name], right) for name in row["metrics"]}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return size


def _score(part: Any, right: int) -> Any:
    return [*part[:2], right] if isinstance(part, list) else right


def _response(maker: random.Random) -> str:
    words = (maker.choice(_WORDS) for _ in range(maker.randint(RESPONSE // 14, RESPONSE // 5)))
    return " ".join(words).capitalize() + ".\n\n"


_WORDS = [
    "".join(maker.choice("бвгдзклмнпрст") + maker.choice("аеиоуыя") for _ in range(maker.randint(2, 5)))
    for maker in [random.Random(0)]
    for _ in range(5000)
]
