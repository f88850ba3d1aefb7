"""Create runs of synthetic documents by several synthetic models, as lm-eval logs them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

Make = Callable[[random.Random], str]


def run_once(folder: Path, data: Path) -> Path:
    """Run lm-eval on a data folder with a model that answers correctly, and return the folder of its logs."""
    from benchmarks._tasks import TASKS
    from tests.support.scripted import reference, run

    run(folder, TASKS, reference, data=data)
    return next(folder.iterdir())


def write_models(once: Path, results: Path, *, models: int, explain: Make = lambda maker: "") -> int:
    """Write the logs of one run as runs of several models, each correct on more documents than the previous one.

    Args:
        once: the folder with the logs of the run.
        results: the output folder, in which each model gets a folder as in lm-eval.
        models: the number of models.
        explain: returns the text before each answer.

    Returns:
        The number of bytes of all responses.
    """
    from tests.support.restate import restate

    size = 0
    for number in range(models):
        target = results / f"org__model-{number}"
        target.mkdir(parents=True)
        for file in sorted(once.iterdir()):
            if file.suffix == ".json":
                content = json.loads(file.read_text(encoding="utf-8"))
                (target / file.name).write_text(json.dumps({**content, "model_name": f"org/model-{number}"}))
            else:
                skill = 0.2 + 0.6 * number / models
                size += _write_log(file, target / file.name, random.Random(number), skill, explain)
        restate(target)
    return size


def parse_logs(results: Path) -> None:
    """Parse every line of the sample logs of `write_models` with the standard library, as a lower bound."""
    for file in sorted(results.glob("*/samples_*.jsonl")):
        with file.open("rb") as lines:
            for line in lines:
                json.loads(line)


def _write_log(source: Path, target: Path, maker: random.Random, skill: float, explain: Make) -> int:
    size = 0
    responses: dict[int, tuple[str, int]] = {}
    with source.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as stream:
        for line in lines:
            row = json.loads(line)
            if row["doc_id"] not in responses:
                right = int(maker.random() < skill)
                responses[row["doc_id"]] = explain(maker) + (row["resps"][0][0] if right else "Ответ: нет"), right
                size += len(responses[row["doc_id"]][0].encode())
            text, right = responses[row["doc_id"]]
            row |= {"resps": [[text]], "filtered_resps": [text if row["filter"] == "strict-match" else text[-9:]]}
            row |= {name: _score(row[name], right) for name in row["metrics"]}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return size


def _score(part: Any, right: int) -> Any:
    return [*part[:2], right] if isinstance(part, list) else right
