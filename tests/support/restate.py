"""Update a results file after a test has changed its sample logs as another run would."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from mera_ru_tasks.logs.reader import ANSWERS, answer_in_digest
from mera_ru_tasks.scoring.metrics import METRICS, group_mean


def restate(folder: Path) -> None:
    """Write the hashes, counts and scores of the sample logs in a model's folder to its results files.

    Scores that are missing from the logs, for example in a run without answers, are also removed from the results.
    """
    for results in folder.glob("results_*.json"):
        date = results.stem.removeprefix("results_")
        content = json.loads(results.read_text(encoding="utf-8"))
        for log in folder.glob(f"samples_*_{date}.jsonl"):
            task = log.name.removeprefix("samples_").removesuffix(f"_{date}.jsonl")
            with log.open(encoding="utf-8", newline="\n") as lines:
                _restate_task(content, task, [json.loads(line) for line in lines])
        results.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


def _restate_task(content: dict[str, Any], task: str, rows: list[dict[str, Any]]) -> None:
    hashed = "".join(row["doc_hash"] + row["prompt_hash"] + row["target_hash"] for row in rows)
    content.setdefault("task_hashes", {})[task] = hashlib.sha256(hashed.encode()).hexdigest()
    parts: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for name in row["metrics"]:
            if name in METRICS:
                parts[f"{name},{row['filter']}"].append(row[name])
    stated = content["results"][task]
    for name in [name for name in stated if name.partition(",")[0] in METRICS]:
        del stated[name]
    for name, values in parts.items():
        grouped = METRICS[name.partition(",")[0]].grouped
        stated[name] = group_mean(values) if grouped else sum(values) / len(values)
    content["n-samples"][task]["effective"] = max(map(len, parts.values()), default=0)
    answers = hashlib.sha256()
    for row in rows:
        if isinstance(row["filtered_resps"][0], str):  # not a log-likelihood
            scores = {name: row[name] for name in row["metrics"]}
            answers.update(answer_in_digest(row["doc"], row["filtered_resps"][0], scores))
    if config := content.get("configs", {}).get(task):
        config.setdefault("metadata", {})[ANSWERS] = answers.hexdigest()


def rehash(row: dict[str, Any]) -> dict[str, Any]:
    """Return a changed row with the hash of its new document."""
    text = json.dumps(row["doc"], indent=2, ensure_ascii=False)
    return {**row, "doc_hash": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def restate_scores(lines: Path, task: str) -> None:
    """Write the hash of a file of `mera-ru score` or `mera-ru judge` to its results file."""
    kind, _, rest = lines.stem.partition("_")
    judge, _, date = rest.rpartition(f"{task}_")
    file = lines.with_name(f"{kind}_results_{judge}{date}.json")
    content = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    content.setdefault("task_hashes", {})[task] = hashlib.sha256(lines.read_bytes()).hexdigest()
    file.write_text(json.dumps(content), encoding="utf-8")
