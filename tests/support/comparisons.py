"""The scripted models of the comparisons, and helpers for their runs and comparisons."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

from mera_ru_tasks.scoring.metrics import STRICT
from tests.support.scripted import reference

SAMPLE_TASKS = ["mera_ru_sample", "riddles_open_sample"]
WEAK, MIDDLE, STRONG = "org/weak-160m", "org/middle-1b", "/models/local/strong-7b"


def skilled(skill: float) -> Callable:
    """Create a model that is correct on a share of documents, which includes the share of any worse model."""

    def answer(doc, prompt):
        luck = random.Random(f"{doc['instruction']} {sorted(doc['inputs'].items())}").random()
        if luck < skill:
            # Every fifth correct answer has the marker in another case, which only flexible-extract accepts.
            return f"**ОТВЕТ: {reference(doc)[7:]}**" if int(luck * 1000) % 5 == 0 else reference(doc)
        return (
            "Не знаю, что ответить." if luck > 0.9 else f"Ответ: {'А' if doc['answer_format']['choices'] else 'пень'}"
        )

    return answer


TASK = "russian_regions_sample"
STRONG_LABEL = "strong-7b"


def row_of(comparison, task, model, metric="exact_match", filter_name=STRICT):
    wanted = (task, model, metric, filter_name)
    return next(r for r in comparison.rows if (r.task, r.model, r.metric, r.filter) == wanted)


def results_file(folder, model):
    return next(iter((folder / model.replace("/", "__")).glob("results_*.json")))


def log_file(folder, model, task=TASK):
    return next(iter((folder / model.replace("/", "__")).glob(f"samples_{task}_2*.jsonl")))


def edit_json(file, change):
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content)
    file.write_text(json.dumps(content), encoding="utf-8")


def edit_rows(file, change):
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]
    file.write_text("".join(json.dumps(change(row), ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
