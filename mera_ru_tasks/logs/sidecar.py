"""What is written beside lm-eval's logs: for each log the scores of its documents, for each run its results.

lm-eval's files are left alone, and ours are told apart by `runs.OWN_PREFIXES`. An earlier file of ours is replaced only
by one that says all that it says; else it is kept under another name.
"""

from __future__ import annotations

import functools
import json
import os
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.task_files import read_task_file
from mera_ru_tasks.errors import OutputError
from mera_ru_tasks.judge.fingerprint import identity
from mera_ru_tasks.logs.lmeval import Run, TaskLog
from mera_ru_tasks.logs.rescore import Row, aggregate
from mera_ru_tasks.paths import yaml_folder
from mera_ru_tasks.scoring.metrics import STRICT

# The parts of lm-eval's results file that ours has too, each by task.
_PARTS = ("results", "versions", "n-shot", "higher_is_better")


@dataclass(frozen=True)
class Rescored:
    """One log and the scores of its documents."""

    log: TaskLog
    rows: Sequence[Row]

    @functools.cached_property
    def results(self) -> dict[str, Any]:
        """The metrics, as lm-eval's results file holds them."""
        return {
            "alias": self.log.task,
            "sample_len": len({row.sample.doc_id for row in self.rows}),
            **aggregate(self.rows),
        }


def table(rescored: Iterable[Rescored]) -> str:
    """The results as lm-eval prints them, a table for each run."""
    from lm_eval.utils import make_table

    return "\n\n".join(
        f"{run.model}, {run.date}\n{make_table(_results_of(items))}" for run, items in _by_run(rescored).items()
    )


def require_writable(logs: Iterable[TaskLog]) -> None:
    """Refuse logs beside which nothing can be written, before the work for it is done; raises OutputError."""
    for folder in dict.fromkeys(log.run.folder for log in logs):
        if not os.access(folder, os.W_OK):
            raise OutputError(
                f"{folder} is closed to you, and what is made of its logs is written beside them. Copy it to a place "
                "of yours and name the copy."
            )


def write(
    rescored: Iterable[Rescored], kind: str, facts: Mapping[str, Any], say: Callable[[str], None], by: str = ""
) -> list[Path]:
    """Write, beside the logs, each log's scores and each run's results.

    Args:
        rescored: the logs and their scores.
        kind: what the files' names begin with, `scored` or `judged`.
        facts: what the results hold beside the numbers.
        say: where to tell that an earlier file was kept under another name.
        by: what follows in the names, to keep several judges apart.

    Returns:
        The files written.
    """
    name = re.sub(r"[^\w.-]", "_", by) + "_" if by else ""
    files = []
    for run, items in _by_run(rescored).items():
        extended = set()
        for item in items:
            file = run.folder / f"{kind}_{name}{item.log.task}_{run.date}.jsonl"
            lines = [row.to_json() for row in item.rows]
            if _extends(lines, file):
                extended.add(item.log.task)
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            _put(file, text, item.log.task in extended, say)
            files.append(file)
        file = run.folder / f"{kind}_results_{name}{run.date}.json"
        earlier = _read_json(file)
        content: dict[str, Any] = {"model_name": run.model, **facts, **_results_of(items)}
        agrees = _agrees(earlier, content, extended)
        if agrees:  # tasks of the earlier file alone, from a call for other logs of the run, stay
            for part in _PARTS:
                content[part] = {**_mapping(earlier.get(part)), **content[part]}
        _put(file, _pretty(content), agrees, say)
        files.append(file)
    return files


def _by_run(rescored: Iterable[Rescored]) -> dict[Run, list[Rescored]]:
    runs: dict[Run, list[Rescored]] = {}
    for item in rescored:
        runs.setdefault(item.log.run, []).append(item)
    return runs


def _results_of(items: Iterable[Rescored]) -> dict[str, dict[str, Any]]:
    """The parts of a results file that lm-eval's own has too, by task."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    for item in items:
        task, results = item.log.task, item.results
        parts["results"][task] = results
        parts["versions"][task] = item.log.version
        parts["n-shot"][task] = item.log.num_fewshot
        parts["higher_is_better"][task] = {
            metric: True
            for name in results
            if "," in name and not (metric := name.partition(",")[0]).endswith("_stderr")
        }
    parts["results"] |= _group_means(parts["results"])
    return parts


def _group_means(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rows of our groups all of whose tasks are there: the unweighted mean of the strict exact match."""
    name = f"exact_match,{STRICT}"
    means = {}
    for file in sorted(yaml_folder().glob("mera_ru*.yaml")):
        tasks = read_task_file(file)["task"]
        values = [results[task][name] for task in tasks if name in results.get(task, {})]
        if len(values) == len(tasks):
            means[file.stem] = {"alias": file.stem, name: sum(values) / len(values)}
    return means


def _extends(lines: Sequence[Mapping[str, Any]], file: Path) -> bool:
    """Whether `lines` hold every score that the earlier file holds."""
    scores = {(line["doc_id"], line["filter"]): line["scores"] for line in json.loads(json.dumps(lines))}
    try:
        earlier = [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []
        return all(
            not line["scores"] or line["scores"] == scores.get((line["doc_id"], line["filter"])) for line in earlier
        )
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError, TypeError, KeyError):
        return False


def _agrees(earlier: Mapping[str, Any], content: Mapping[str, Any], extended: Container[str]) -> bool:
    """Whether the new results take nothing back: the same judge, and equal numbers but where scores were added."""
    numbers = _mapping(earlier.get("results"))
    known = [task for task in numbers if task in content["results"] and task not in extended]
    judges = [identity(each.get("judge")) for each in (earlier or content, content)]
    return judges[0] == judges[1] and all(_pretty(numbers[task]) == _pretty(content["results"][task]) for task in known)


def _pretty(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _put(file: Path, text: str, replaces: bool, say: Callable[[str], None]) -> None:
    """Write a file as a whole; an earlier one that must not be replaced is kept under a free name."""
    if file.exists() and not replaces and file.read_bytes() != text.encode():
        number = 1
        while (kept := file.with_name(f"{file.stem}.before-{number}{file.suffix}")).exists():
            number += 1
        file.rename(kept)
        say(f"{file.name} held other scores; it is kept as {kept.name}.")
    # Beside the file and renamed, so that whoever is killed half-way leaves the earlier one whole.
    part = file.with_name(f"{file.name}.{os.getpid()}.part")
    try:
        part.write_bytes(text.encode())
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _read_json(file: Path) -> Mapping[str, Any]:
    try:
        return _mapping(json.loads(file.read_bytes()))
    except (FileNotFoundError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
