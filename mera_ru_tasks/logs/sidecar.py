"""Write and read the files next to lm-eval's logs: the scores of each log's documents, and each run's results.

`mera-ru score` writes `scored_TASK_DATE.jsonl` and `scored_results_DATE.json`; `mera-ru judge` writes
`judged_JUDGE_TASK_DATE.jsonl` and `judged_results_JUDGE_DATE.json`. A line holds one document in one filter:
`{"doc_id": …, "id": …, "filter": …, "scores": {…}, "reference": …}`, in judged files also `source`, `reason` and
`judge`: each line names the judge, since the results file may come from another call.
lm-eval's own files are never changed. An earlier file is replaced only by one that holds all its scores; otherwise it
is kept under another name.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.issues import OutputError, RunError
from mera_ru_tasks.judge.config import identity
from mera_ru_tasks.logs.find import Run, TaskLog, as_mapping, tasks_of_run
from mera_ru_tasks.logs.reader import BrokenLine, Sample, checked_part
from mera_ru_tasks.paths import averaged_groups, bounded_lines, open_regular, read_bounded, write_whole
from mera_ru_tasks.scoring.metrics import METRICS, STRICT
from mera_ru_tasks.secrets import public_name
from mera_ru_tasks.textutil import read_json, strict_json

# Added to a task's name in tables and results if its log is incomplete.
INCOMPLETE_MARK = " (incomplete log)"

# The maximum length of a judge's name in a file name, in bytes; most file systems limit file names to 255.
_LONGEST = 60

# The parts of lm-eval's results file that ours also contains, each by task.
_PARTS = ("results", "versions", "n-shot", "higher_is_better")


@dataclass(frozen=True)
class ScoredSample:
    """The new scores of one document in one filter: a line of a file.

    Attributes:
        sample: the logged sample.
        scores: the metrics' parts by name; empty without a reference or verdict.
        extra: further fields of the line.
    """

    sample: Sample
    scores: Mapping[str, Any]
    extra: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the line's fields."""
        identity = {
            "doc_id": self.sample.doc_id,
            "id": self.sample.doc["meta"].get("id"),
            "filter": self.sample.filter,
        }
        return {**identity, "scores": dict(self.scores), **self.extra}


@dataclass(frozen=True)
class Rescored:
    """One log and the new scores of its documents.

    Attributes:
        log: the log.
        rows: the scores.
        incomplete: True if the log may be incomplete, so that its numbers are marked.
    """

    log: TaskLog
    rows: Sequence[ScoredSample]
    incomplete: bool = False

    @functools.cached_property
    def results(self) -> dict[str, Any]:
        """The metrics in the form of lm-eval's results file."""
        return {
            "alias": self.log.task + (INCOMPLETE_MARK if self.incomplete else ""),
            "sample_len": len({row.sample.doc_id for row in self.rows}),
            **aggregate(self.rows),
        }


@dataclass(frozen=True)
class ScoreLine:
    """One line of a file, as read back.

    Attributes:
        number: its number, from 1.
        doc_id: the document's number in its split.
        id: the document's own id.
        filter: the filter.
        scores: the metrics' parts by name.
        reference: the digest of the reference; None if the line has no digest.
        reason: the judge's reason; empty if there is none.
        judge: the judge's identity (see `judge.config.identity`); None if it is not stated.
    """

    number: int
    doc_id: int
    id: Any
    filter: str
    scores: Mapping[str, Any]
    reference: str | None
    reason: str
    judge: Mapping[str, Any] | None


def scored_file(log: TaskLog) -> Path:
    """Return where `mera-ru score` writes the scores of a log's documents."""
    return _lines_file(log, "scored_")


def _lines_file(log: TaskLog, beginning: str) -> Path:
    return log.run.folder / f"{beginning}{log.task}_{log.run.date}.jsonl"


def judged_files(log: TaskLog) -> Iterator[tuple[Path, str]]:
    """Yield the files of `mera-ru judge` for a log, each with the judge's name as the file name has it."""
    end = f"_{log.task}_{log.run.date}.jsonl"
    # A judge's name can hold anything, so `judged_x_city_quiz_DATE` belongs to `quiz` unless a task `city_quiz` exists.
    others = tuple(f"_{task}_{log.run.date}.jsonl" for task in tasks_of_run(log.run) if task.endswith(f"_{log.task}"))
    for file in sorted(log.file.parent.glob("judged_*.jsonl")):
        if file.name.endswith(others):
            continue
        if file.name.endswith(end) and len(file.name) > len("judged") + len(end):
            yield file, file.name[len("judged_") : -len(end)]


def read_lines(file: Path) -> Iterator[ScoreLine | BrokenLine]:
    """Read a score file lazily; yield an unusable line as broken."""
    with open_regular(file) as stream:
        for number, line in enumerate(bounded_lines(stream, str(file)), start=1):
            try:
                yield _parse(line, file.name, number)
            except RunError as error:
                yield BrokenLine(number, str(error))


def _parse(line: bytes, file: str, number: int) -> ScoreLine:
    location = f"{file}, line {number}"
    try:
        row = read_json(line)
        parts = {name: part for name, part in row["scores"].items() if name in METRICS}
        doc_id, name = row["doc_id"], row["filter"]
        reference, reason = row.get("reference"), row.get("reason")
        scores = {name: checked_part(name, part, file, number) for name, part in parts.items()}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise RunError(
            f"{location}: it is not a valid score line ({type(error).__name__}). Run the command again."
        ) from error
    if not (isinstance(doc_id, int) and isinstance(name, str)):
        raise RunError(f"{location}: it is not a valid score line. Run the command again.")
    digest = reference if isinstance(reference, str) else None
    return ScoreLine(number, doc_id, row.get("id"), name, scores, digest, str(reason or ""), identity(row.get("judge")))


def aggregate(rows: Iterable[ScoredSample]) -> dict[str, Any]:
    """Aggregate scores as lm-eval does: for each metric and filter, the value and its standard error."""
    from lm_eval.api.metrics import mean_stderr

    values: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for metric, value in row.scores.items():
            values[f"{metric},{row.sample.filter}"].append(value)
    results: dict[str, Any] = {}
    for name, parts in values.items():
        metric, _, filter_name = name.partition(",")
        results[name] = METRICS[metric].aggregate(parts)
        has_error = len(parts) > 1 and not METRICS[metric].grouped
        results[f"{metric}_stderr,{filter_name}"] = mean_stderr(parts) if has_error else "N/A"
    return results


def table(rescored: Iterable[Rescored]) -> str:
    """Return the results as lm-eval prints them, one table for each run."""
    from lm_eval.utils import make_table

    return "\n\n".join(
        f"{run.model}, {run.date}\n{make_table(_results_of(items))}" for run, items in _by_run(rescored).items()
    )


def require_writable(logs: Iterable[TaskLog]) -> None:
    """Check in advance that files can be written next to the logs; raise OutputError if not."""
    for folder in dict.fromkeys(log.run.folder for log in logs):
        if not os.access(folder, os.W_OK):
            raise OutputError(
                f"No write permission for {folder}, but results are written next to the logs. Copy the folder to a "
                "place where you can write and name the copy."
            )


def write(
    rescored: Iterable[Rescored], kind: str, facts: Mapping[str, Any], say: Callable[[str], None], by: str = ""
) -> list[Path]:
    """Write each log's scores and each run's results next to the logs.

    Args:
        rescored: the logs and their scores.
        kind: the beginning of the files' names, `scored` or `judged`.
        facts: further fields of the results.
        say: called with a message if an earlier file is kept under another name.
        by: the judge's name, a part of the files' names; empty for `scored`.

    Returns:
        The files written.
    """
    name = _short(re.sub(r"[^\w.-]", "_", by)) + "_" if by else ""
    files = []
    for run, items in _by_run(rescored).items():
        extended = set()
        for item in items:
            file = _lines_file(item.log, f"{kind}_{name}")
            lines = [row.to_json() for row in item.rows]
            if _extends(lines, file):
                extended.add(item.log.task)
            text = "".join(strict_json(line) + "\n" for line in lines)
            _put(file, text, item.log.task in extended, say)
            files.append(file)
        file = run.folder / f"{kind}_results_{name}{run.date}.json"
        earlier = _read_json(file)
        content: dict[str, Any] = {"model_name": public_name(run.model), **facts, **_results_of(items)}
        agrees = _agrees(earlier, content, extended)
        if agrees:  # the earlier file's other tasks, from a call for other logs of the run, are kept
            for part in _PARTS:
                content[part] = {**as_mapping(earlier.get(part)), **content[part]}
        _put(file, _pretty(content), agrees, say)
        files.append(file)
    return files


def _short(name: str) -> str:
    """Shorten a long name for a file; a digest distinguishes names with the same beginning."""
    raw = name.encode()
    if len(raw) <= _LONGEST:
        return name
    return f"{raw[: _LONGEST - 9].decode(errors='ignore')}-{hashlib.sha256(raw).hexdigest()[:8]}"


def _by_run(rescored: Iterable[Rescored]) -> dict[Run, list[Rescored]]:
    runs: dict[Run, list[Rescored]] = {}
    for item in rescored:
        runs.setdefault(item.log.run, []).append(item)
    return runs


def _results_of(items: Iterable[Rescored]) -> dict[str, dict[str, Any]]:
    """Return the parts that lm-eval's results file also contains, by task."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in _PARTS}
    for item in items:
        task, results = item.log.task, item.results
        parts["results"][task] = results
        parts["versions"][task] = item.log.version
        parts["n-shot"][task] = item.log.num_fewshot
        parts["higher_is_better"][task] = {
            metric: METRICS[metric].higher_is_better
            for name in results
            if "," in name and not (metric := name.partition(",")[0]).endswith("_stderr")
        }
    parts["results"] |= _group_means(parts["results"])
    return parts


def _group_means(results: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return rows for complete task groups: the unweighted mean of the strict exact match."""
    name = f"exact_match,{STRICT}"
    means = {}
    for group, tasks in averaged_groups().items():
        values = [results[task][name] for task in tasks if name in results.get(task, {})]
        if len(values) == len(tasks):
            marked = any(str(results[task]["alias"]).endswith(INCOMPLETE_MARK) for task in tasks)
            means[group] = {"alias": group + (INCOMPLETE_MARK if marked else ""), name: sum(values) / len(values)}
    return means


def _extends(lines: Sequence[Mapping[str, Any]], file: Path) -> bool:
    """Return True if `lines` contain every score of the earlier file."""
    scores = {(line["doc_id"], line["filter"]): line["scores"] for line in json.loads(strict_json(lines))}
    try:
        earlier = [read_json(line) for line in file.read_bytes().splitlines()] if file.exists() else []
        return all(
            not line["scores"] or line["scores"] == scores.get((line["doc_id"], line["filter"])) for line in earlier
        )
    except (ValueError, TypeError, KeyError):
        return False


def _agrees(earlier: Mapping[str, Any], content: Mapping[str, Any], extended: Container[str]) -> bool:
    """Return True if the new results drop nothing: the same judge, and equal numbers unless scores were added."""
    numbers = as_mapping(earlier.get("results"))
    known = [task for task in numbers if task in content["results"] and task not in extended]
    judges = [identity(each.get("judge")) for each in (earlier or content, content)]
    return judges[0] == judges[1] and all(_pretty(numbers[task]) == _pretty(content["results"][task]) for task in known)


def _pretty(content: Any) -> str:
    return strict_json(content, indent=2) + "\n"


def _put(file: Path, text: str, replaces: bool, say: Callable[[str], None]) -> None:
    """Write a whole file; an earlier one that must not be replaced is kept under a free name."""
    content = text.encode()
    if file.exists() and not replaces and file.read_bytes() != content:
        number = 1
        while (kept := file.with_name(f"{file.stem}.before-{number}{file.suffix}")).exists():
            number += 1
        write_whole(kept, file.read_bytes())
        say(f"{file.name} held other scores; it is kept as {kept.name}.")
    write_whole(file, content, replace=True)


def _read_json(file: Path) -> Mapping[str, Any]:
    """Return the object in a JSON file; empty if there is no file."""
    try:
        return as_mapping(read_json(read_bounded(file)))
    except (OSError, ValueError):
        return {}
