"""Write score files next to lm-eval's logs, and read them.

`mera-ru score` writes `scored_TASK_DATE.jsonl` and `scored_results_DATE.json`. `mera-ru judge` writes
`judged_JUDGE_TASK_DATE.jsonl` and `judged_results_JUDGE_DATE.json`.

Each line of a `.jsonl` file contains one document's scores for one filter:
`{"doc_id": …, "id": …, "filter": …, "scores": {…}, "reference": …}`. Lines of judged files also have `source`, `reason`
and `judge`. Every line names its judge, because the results file may belong to another run of `mera-ru judge`.

The results file contains a hash of each `.jsonl` file, as lm-eval's results file does for its logs. A file that differs
from its hash is not read.

This module never changes lm-eval's own files. It overwrites an earlier score file only if the new file contains all of
the earlier scores. Otherwise it first copies the earlier file to another name.
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
from mera_ru_tasks.logs.reader import Sample, checked_part
from mera_ru_tasks.paths import averaged_groups, bounded_lines, open_regular, read_bounded, write_whole
from mera_ru_tasks.scoring.metrics import METRICS, STRICT
from mera_ru_tasks.secrets import public_name
from mera_ru_tasks.textutil import read_json, strict_json

# The suffix of a task's name in tables and results if the log is incomplete.
INCOMPLETE_MARK = " (incomplete log)"

# The maximum length of a judge's name in a file name, in bytes. Most file systems limit file names to 255 bytes.
_LONGEST = 60

# The parts of lm-eval's results file that this package's results files also contain. Each part is keyed by task.
_PARTS = ("results", "versions", "n-shot", "higher_is_better")

# The part with the hash of each task's score file, named as in lm-eval's results file.
_HASHES = "task_hashes"


@dataclass(frozen=True)
class ScoredSample:
    """The new scores of one document for one filter, which become a line of a score file.

    Attributes:
        sample: the logged sample.
        scores: the document's value for each metric. Empty without a reference or a verdict.
        extra: additional fields of the line.
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
        incomplete: True if the log may be incomplete. Its scores are then marked.
    """

    log: TaskLog
    rows: Sequence[ScoredSample]
    incomplete: bool = False

    @functools.cached_property
    def results(self) -> dict[str, Any]:
        """The metrics in the format of lm-eval's results file."""
        return {
            "alias": self.log.task + (INCOMPLETE_MARK if self.incomplete else ""),
            "sample_len": len({row.sample.doc_id for row in self.rows}),
            **aggregate(self.rows),
        }


@dataclass(frozen=True)
class ScoreLine:
    """One line read from a score file.

    Attributes:
        doc_id: the document's index in its split, starting at 0.
        id: the document's `meta.id`.
        filter: the filter.
        scores: the document's value for each metric.
        reference: the digest of the reference, or None if the line has no digest.
        reason: the judge's reason, or an empty string if there is none.
        judge: the judge's identity (see `judge.config.identity`), or None if the line does not name a judge.
    """

    doc_id: int
    id: int | None
    filter: str
    scores: Mapping[str, Any]
    reference: str | None
    reason: str
    judge: Mapping[str, Any] | None


@dataclass(frozen=True)
class ScoreFile:
    """A file with the new scores of a log.

    Attributes:
        log: the log.
        judge: the judge's name as in the file name, or an empty string for the scores of `mera-ru score`.
    """

    log: TaskLog
    judge: str = ""

    @property
    def lines(self) -> Path:
        """The file with a line for each document and filter."""
        return self.log.run.folder / f"{self._kind}{self.log.task}_{self.log.run.date}.jsonl"

    @property
    def results(self) -> Path:
        """The results file, which contains the hash of the lines."""
        kind, _, judge = self._kind.partition("_")
        return self.log.run.folder / f"{kind}_results_{judge}{self.log.run.date}.json"

    @property
    def _kind(self) -> str:
        return f"judged_{self.judge}_" if self.judge else "scored_"

    def read(self) -> list[ScoreLine]:
        """Read the lines.

        Raises:
            OSError: the file cannot be read.
            RunError: the lines differ from the hash in the results file, or one of them is invalid.
        """
        digest = hashlib.sha256()
        found = []
        with open_regular(self.lines) as stream:
            for number, line in enumerate(bounded_lines(stream), start=1):
                digest.update(line)
                found.append(_parse(line, self.lines.name, number))
        if as_mapping(_read_json(self.results).get(_HASHES)).get(self.log.task) != digest.hexdigest():
            raise RunError(f"{self.lines.name} differs from the hash in {self.results.name}.")
        return found


def score_files(log: TaskLog) -> Iterator[ScoreFile]:
    """Yield the files that `mera-ru score` and `mera-ru judge` wrote for a log."""
    if (scored := ScoreFile(log)).lines.is_file():
        yield scored
    end = f"_{log.task}_{log.run.date}.jsonl"
    # A judge's name may contain underscores. `judged_x_city_quiz_DATE` belongs to `quiz` unless `city_quiz` is a task.
    others = tuple(f"_{task}_{log.run.date}.jsonl" for task in tasks_of_run(log.run) if task.endswith(f"_{log.task}"))
    for file in sorted(log.run.folder.glob("judged_*.jsonl")):
        if file.name.endswith(others):
            continue
        if file.name.endswith(end) and len(file.name) > len("judged") + len(end):
            yield ScoreFile(log, file.name[len("judged_") : -len(end)])


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
            f"{location}: not a valid line of a score file ({type(error).__name__}). Rerun the command that wrote it."
        ) from error
    if not (isinstance(doc_id, int) and isinstance(row.get("id"), int | None) and isinstance(name, str)):
        raise RunError(f"{location}: not a valid line of a score file. Rerun the command that wrote it.")
    digest = reference if isinstance(reference, str) else None
    return ScoreLine(doc_id, row.get("id"), name, scores, digest, str(reason or ""), identity(row.get("judge")))


def aggregate(rows: Iterable[ScoredSample]) -> dict[str, Any]:
    """Return the score and its standard error for each metric and filter, aggregated as in lm-eval."""
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
    """Return a table of the results for each run, in lm-eval's layout."""
    from lm_eval.utils import make_table

    return "\n\n".join(
        f"{run.model}, {run.date}\n{make_table(_results_of(items))}" for run, items in _by_run(rescored).items()
    )


def require_writable(logs: Iterable[TaskLog]) -> None:
    """Raise OutputError if files cannot be written next to the logs."""
    for folder in dict.fromkeys(log.run.folder for log in logs):
        if not os.access(folder, os.W_OK):
            raise OutputError(
                f"No write permission for {folder}. The results are written next to the logs, so copy the folder to a "
                "location with write permission and pass the copy."
            )


def write(
    rescored: Iterable[Rescored], kind: str, extra: Mapping[str, Any], notify: Callable[[str], None], by: str = ""
) -> list[Path]:
    """Write each log's scores and each run's results next to the logs.

    Args:
        rescored: the logs and their scores.
        kind: the prefix of the file names, `scored` or `judged`.
        extra: additional fields of the results.
        notify: a function called with a message when an earlier file is kept under another name.
        by: the judge's name, which becomes part of the file names. Empty for `scored`.

    Returns:
        The files written.
    """
    judge = _short(re.sub(r"[^\w.-]", "_", by))
    files = []
    for run, items in _by_run(rescored).items():
        extended, hashes = set(), {}
        for item in items:
            task, file = item.log.task, ScoreFile(item.log, judge).lines
            lines = [row.to_json() for row in item.rows]
            if _extends(lines, file):
                extended.add(task)
            text = "".join(strict_json(line) + "\n" for line in lines)
            hashes[task] = hashlib.sha256(text.encode()).hexdigest()
            _write_file(file, text, task in extended, notify)
            files.append(file)
        file = ScoreFile(items[0].log, judge).results
        earlier = _read_json(file)
        content: dict[str, Any] = {"model_name": public_name(run.model), **extra, **_results_of(items)}
        agrees = _agrees(earlier, content, extended)
        if agrees:  # keep the earlier file's tasks: an earlier command may have scored other logs of the run
            for part in _PARTS:
                content[part] = {**as_mapping(earlier.get(part)), **content[part]}
        content[_HASHES] = {**as_mapping(earlier.get(_HASHES)), **hashes}
        _write_file(file, _pretty(content), agrees, notify)
        files.append(file)
    return files


def _short(name: str) -> str:
    """Shorten a long name. Add a digest so that names with the same beginning remain different."""
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
    """Return the parts of a results file that lm-eval's results file also contains."""
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
    """Return a row for each complete task group, with the unweighted mean of exact_match,strict-match."""
    name = f"exact_match,{STRICT}"
    means = {}
    for group, tasks in averaged_groups().items():
        values = [results[task][name] for task in tasks if name in results.get(task, {})]
        if len(values) == len(tasks):
            marked = any(str(results[task]["alias"]).endswith(INCOMPLETE_MARK) for task in tasks)
            means[group] = {"alias": group + (INCOMPLETE_MARK if marked else ""), name: sum(values) / len(values)}
    return means


def _extends(lines: Sequence[Mapping[str, Any]], file: Path) -> bool:
    """Return True if `lines` contain all scores of the existing file."""
    scores = {(line["doc_id"], line["filter"]): line["scores"] for line in json.loads(strict_json(lines))}
    try:
        earlier = [read_json(line) for line in file.read_bytes().splitlines()] if file.exists() else []
        return all(
            not line["scores"] or line["scores"] == scores.get((line["doc_id"], line["filter"])) for line in earlier
        )
    except (ValueError, TypeError, KeyError):
        return False


def _agrees(earlier: Mapping[str, Any], content: Mapping[str, Any], extended: Container[str]) -> bool:
    """Return True if the new results have the same judge and lose no earlier score.

    Results may differ only for the tasks in `extended`, whose files gained scores.
    """
    numbers = as_mapping(earlier.get("results"))
    known = [task for task in numbers if task in content["results"] and task not in extended]
    judges = [identity(each.get("judge")) for each in (earlier or content, content)]
    return judges[0] == judges[1] and all(_pretty(numbers[task]) == _pretty(content["results"][task]) for task in known)


def _pretty(content: Any) -> str:
    return strict_json(content, indent=2) + "\n"


def _write_file(file: Path, text: str, replaces: bool, notify: Callable[[str], None]) -> None:
    """Write a whole file. If an earlier file must not be replaced, first copy it to an unused name."""
    content = text.encode()
    if file.exists() and not replaces and file.read_bytes() != content:
        number = 1
        while (kept := file.with_name(f"{file.stem}.before-{number}{file.suffix}")).exists():
            number += 1
        write_whole(kept, file.read_bytes())
        notify(f"{file.name} contained different scores; they are kept in {kept.name}.")
    write_whole(file, content, replace=True)


def _read_json(file: Path) -> Mapping[str, Any]:
    """Return the object in a JSON file, or an empty mapping if the file cannot be read."""
    try:
        return as_mapping(read_json(read_bounded(file)))
    except (OSError, ValueError):
        return {}
