"""Scores that were made after the run: verdicts of judges, and scores against answers that came later.

They lie beside lm-eval's logs as `judged_JUDGE_TASK_DATE.jsonl` and `scored_TASK_DATE.jsonl`: a line for each document
and pipeline, `{"doc_id": …, "filter": …, "scores": {…}, "reference": …}`, in judged files with `source` and `reason`.
Who the judge was stands in `judged_results_JUDGE_DATE.json`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.answers import Answer, Fault, Verdict, checked
from mera_ru_tasks.compare.notes import Remark, remark
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.judge.fingerprint import METADATA, identity
from mera_ru_tasks.logs.lmeval import TaskLog, as_mapping, tasks_of_run
from mera_ru_tasks.scoring.metrics import METRICS, STRICT


def add_rescored(log: TaskLog, model: str, answers: Sequence[Answer]) -> list[Remark]:
    """Add to a log's answers what the files beside it say; a metric that was scored again replaces the logged one.

    Args:
        log: the log.
        model: its model's label.
        answers: its answers.

    Returns:
        What is wrong with the files, and which were used.
    """
    by_id = {answer.doc_id: answer for answer in answers}
    said: list[Remark] = []
    _add_scored(log, model, by_id, said)
    for file, judge in _judged(log):
        for answer, row in _rows(file, model, by_id, said):
            scores = row["scores"]
            for name, part in scores.items():
                answer.scores[name, f"judge {judge}"] = part
                answer.references[name, f"judge {judge}"] = _reference(row)
            answer.verdicts.append(Verdict(judge, scores.get("judge_score"), str(row.get("reason") or "")))
    return said


def _add_scored(log: TaskLog, model: str, by_id: Mapping[int, Answer], said: list[Remark]) -> None:
    """Put the scores of the `scored_` file in the place of the log's, if it has all: a mean of both is of neither."""
    file = log.file.with_name(f"scored_{log.task}_{log.run.date}.jsonl")
    if not file.is_file():
        return
    rows = list(_rows(file, model, by_id, said))
    held = {(answer.doc_id, row["filter"]) for answer, row in rows}
    wanted = {(answer.doc_id, pipeline) for answer in by_id.values() for pipeline in answer.readings}
    if missing := len(wanted - held):
        said.append(remark("scored_in_part", model=model, file=file.name, missing=missing, all=len(wanted)))
        return
    changed = 0
    for answer, row in rows:
        pipeline, scores = row["filter"], row["scores"]
        logged = [name for name, other in answer.scores if other == pipeline and "judge" not in name]
        # A score that the file does not have again is gone, as it is from the results that `mera-ru score` shows.
        changed += sum(answer.scores.pop((name, pipeline)) != scores.get(name) for name in logged)
        for name, part in scores.items():
            answer.scores[name, pipeline] = part
            answer.references[name, pipeline] = _reference(row)
    differs = remark("differs", n=changed) if changed else ""
    said.append(remark("rescored", model=model, task=log.task, file=file.name, differs=differs))


def judges_of(log: TaskLog) -> dict[str, dict[str, Any] | None]:
    """Who gave a log's judge scores, by pipeline (see `judge.facts.identity`); None where that is not known."""
    return {
        STRICT: identity(as_mapping(log.config.get("metadata")).get(METADATA)),
        **{f"judge {judge}": _judge_after_the_run(log, judge) for _, judge in _judged(log)},
    }


def _judge_after_the_run(log: TaskLog, judge: str) -> dict[str, Any] | None:
    file = log.file.with_name(f"judged_results_{judge}_{log.run.date}.json")
    try:
        content = as_mapping(json.loads(file.read_bytes()))
    except (OSError, ValueError, RecursionError):
        return None
    # The verdicts of a task that it does not name may be those of an earlier call, with other settings.
    return identity(content.get("judge")) if log.task in as_mapping(content.get("results")) else None


def _reference(row: Mapping[str, Any]) -> str | None:
    digest = row.get("reference")
    return digest if isinstance(digest, str) else None


def _judged(log: TaskLog) -> Iterator[tuple[Path, str]]:
    """The judged files of a log, with the judge's name as the file's has it."""
    end = f"_{log.task}_{log.run.date}.jsonl"
    # A judge's name can hold anything, so `judged_x_city_quiz_DATE` is of `quiz` only where no task is `city_quiz`.
    others = tuple(f"_{task}_{log.run.date}.jsonl" for task in tasks_of_run(log.run) if task.endswith(f"_{log.task}"))
    for file in sorted(log.file.parent.glob("judged_*.jsonl")):
        if file.name.endswith(others):
            continue
        if file.name.endswith(end) and len(file.name) > len("judged") + len(end):
            yield file, file.name[len("judged_") : -len(end)]


def _rows(
    file: Path, model: str, by_id: Mapping[int, Answer], said: list[Remark]
) -> Iterator[tuple[Answer, Mapping[str, Any]]]:
    faults = []
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            place = f"{file.name}, line {number}"
            try:
                row = _row(line, place)
            except RunError as error:
                faults.append(Fault(number, str(error)))
                continue
            answer = by_id.get(row["doc_id"])
            if answer is None or row.get("id") != answer.doc["meta"].get("id"):
                faults.append(Fault(number, f"{place}: the log has no such document."))
            else:
                yield answer, row
    if faults:
        more = remark("more_rescored", n=len(faults) - 1) if len(faults) > 1 else ""
        first = faults[0]
        said.append(
            remark("broken_rescored", model=model, fault=first.what, file=file.name, line=first.line, more=more)
        )


def _row(line: bytes, place: str) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8"))
        scores = {name: checked(name, part, place) for name, part in row["scores"].items() if name in METRICS}
        if isinstance(row["doc_id"], int) and isinstance(row["filter"], str):
            return {**row, "scores": scores}
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError) as error:
        raise RunError(f"{place}: it is no line of scores ({type(error).__name__}), perhaps cut.") from error
    raise RunError(f"{place}: it is no line of scores.")
