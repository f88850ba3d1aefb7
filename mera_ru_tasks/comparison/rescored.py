"""Scores that were made after the run: verdicts of judges, and scores against answers that came later.

They lie beside lm-eval's logs as `judged_JUDGE_TASK_DATE.jsonl` and `scored_TASK_DATE.jsonl`: a line for each document
and pipeline, `{"doc_id": …, "filter": …, "scores": {…}}`, in judged files with `source` and `reason`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mera_ru_tasks.comparison.answers import METRICS, Answer, Verdict, checked
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.runs import TaskLog


def add_rescored(log: TaskLog, answers: Sequence[Answer]) -> list[str]:
    """Add to a log's answers what the files beside it say; a metric that was scored again replaces the logged one.

    Returns:
        What is wrong with the files, and which were used, a text each.
    """
    by_id = {answer.doc_id: answer for answer in answers}
    said: list[str] = []
    scored = log.file.with_name(f"scored_{log.task}_{log.run.date}.jsonl")
    if scored.is_file():
        changed = 0
        for answer, row in _rows(scored, by_id, said):
            for name, part in row["scores"].items():
                changed += answer.scores.get((name, row["filter"]), part) != part
                answer.scores[name, row["filter"]] = part
        differs = f"; {changed} of them differ from the log's" if changed else ""
        said.append(f"{log.task} of {log.run.model}: scores are from {scored.name}{differs}.")
    for file, judge in _judged(log):
        for answer, row in _rows(file, by_id, said):
            scores = row["scores"]
            for name, part in scores.items():
                answer.scores[name, f"judge {judge}"] = part
            answer.verdicts.append(Verdict(judge, scores.get("judge_score"), str(row.get("reason") or "")))
    return said


def _judged(log: TaskLog) -> Iterator[tuple[Path, str]]:
    """The judged files of a log, with the judge's name as the file's has it."""
    end = f"_{log.task}_{log.run.date}.jsonl"
    for file in sorted(log.file.parent.glob("judged_*.jsonl")):
        if file.name.endswith(end) and len(file.name) > len("judged") + len(end):
            yield file, file.name[len("judged_") : -len(end)]


def _rows(file: Path, by_id: Mapping[int, Answer], said: list[str]) -> Iterator[tuple[Answer, Mapping[str, Any]]]:
    faults = []
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            place = f"{file}, line {number}"
            try:
                row = _row(line, place)
            except RunError as error:
                faults.append(str(error))
                continue
            answer = by_id.get(row["doc_id"])
            if answer is None or row.get("id") != answer.doc["meta"].get("id"):
                faults.append(f"{place}: the log has no such document.")
            else:
                yield answer, row
    if faults:
        more = f" ({len(faults) - 1} more lines of this file are left out too.)" if len(faults) > 1 else ""
        said.append(f"{faults[0]}{more} Make the file again with `mera-ru judge` or `mera-ru score`.")


def _row(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
        scores = {name: checked(name, part, place) for name, part in row["scores"].items() if name in METRICS}
        if isinstance(row["doc_id"], int) and isinstance(row["filter"], str):
            return {**row, "scores": scores}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{place}: it is no line of scores ({type(error).__name__}), perhaps cut.") from error
    raise RunError(f"{place}: it is no line of scores.")
