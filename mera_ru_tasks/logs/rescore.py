"""Score the responses in lm-eval's sample logs after the run, with or without a judge.

This module calls the same scoring functions as the harness. `sidecar.py` aggregates and writes the scores.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data import load
from mera_ru_tasks.data.benchmarks import benchmark_of_task, scored_split
from mera_ru_tasks.data.schema import question_of
from mera_ru_tasks.issues import DataError, Issue, RunError
from mera_ru_tasks.judge.config import identity, judge_description
from mera_ru_tasks.logs.find import TaskLog, as_mapping, find_logs, newest
from mera_ru_tasks.logs.reader import LogCheck, Sample, is_our_log, read_log
from mera_ru_tasks.logs.sidecar import Rescored, ScoredSample
from mera_ru_tasks.paths import read_task_file, task_files
from mera_ru_tasks.scoring import score, strict
from mera_ru_tasks.scoring.extract import opening_mark
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT
from mera_ru_tasks.textutil import plural

if TYPE_CHECKING:
    from mera_ru_tasks.judge.config import Settings


def our_logs(paths: Sequence[Path], notify: Callable[[str], None] = lambda text: None) -> list[TaskLog]:
    """Find the newest log of each model and task under `paths`. Ignore logs of other packages' tasks.

    Args:
        paths: see `find_logs`.
        notify: a function called with a note that lists the older logs.

    Raises:
        RunError: a path is wrong, or there are no logs of this package's tasks.
    """
    found = [log for log in find_logs(paths) if is_our_log(log)]
    if not found:
        names = ", ".join(sorted({log.task for log in find_logs(paths)}))
        raise RunError(
            f"The logs belong to other tasks ({names}). Pass logs of this package's tasks, such as those of mera_ru."
        )
    chosen = newest(found)
    if older := ", ".join(str(log.file) for log in found if log not in chosen):
        notify(f"Note: only the newest log of each model and task is used. Ignored: {older}")
    return chosen


@dataclass(frozen=True)
class Responses:
    """The responses of a log to rescore.

    Attributes:
        log: the log.
        samples: the usable lines of the log.
        issues: the issues found. If one of them is an error, callers must not show scores from the log.
        incomplete: the filters whose scores must be marked (see `LogCheck`).
    """

    log: TaskLog
    samples: Sequence[Sample]
    issues: Sequence[Issue]
    incomplete: frozenset[str]


def read_responses(log: TaskLog) -> Responses:
    """Read and check the responses of a log.

    If the logged scores differ from the results file or from the rescored responses, add an error.
    """
    samples, check = read_log(log)
    issues = [*check.issues, *check_responses(log, samples, check)]
    if not samples:
        hint = "Copy the log again, or rerun the evaluation."
        issues.append(Issue("no-usable-line", "error", log.file.name, "the log contains no usable lines", hint))
    elif any(sample.options for sample in samples):
        message = "this task ranks options by log-likelihood, so the log contains no responses"
        issues.append(Issue("no-responses", "error", log.file.name, message, "`mera-ru compare` shows its scores."))
    return Responses(log, samples, issues, check.incomplete)


def check_responses(log: TaskLog, samples: Iterable[Sample], check: LogCheck) -> Iterator[Issue]:
    """Check that rescoring the responses gives the logged scores.

    If another version of the task wrote the log, its scores may differ. Yield a note without checking them. If the
    digest in the results file confirms the log, nothing is scored again.

    Args:
        log: the log.
        samples: its usable lines. They are read only if they are needed.
        check: the result of checking the log.
    """
    name, version = log.file.name, present_version(log.task)
    if log.version is None or version is None:
        return
    if log.version == version:
        scored = (sample for sample in samples if sample.scores and not sample.options)
        changed = [sample.line for sample in scored if _is_changed(log, sample)] if not check.as_scored else []
        if changed:
            message = (
                f"rescoring the responses gives different scores on {len(changed)} "
                f"{plural(len(changed), 'line', 'lines')}; the first is line {changed[0]}"
            )
            hint = "Copy the log again, or rerun the evaluation."
            yield Issue("response-contradicts-score", "error", name, message, hint, values=(("n", len(changed)),))
    else:
        message = f"version {log.version} of {log.task} computed these scores; the rules may have changed since"
        hint = "To compute the scores by the current rules, run `mera-ru score`."
        yield Issue("other-version", "note", name, message, hint, values=(("version", log.version), ("task", log.task)))


def _is_changed(log: TaskLog, sample: Sample) -> bool:
    scores = _scores(log, sample, sample.doc)
    return any(scores.get(name) != part for name, part in sample.scores.items() if not METRICS[name].judged)


@functools.cache
def present_version(task: str) -> Any:
    """Return a task's version in this package, or None for a custom task."""
    file = task_files().get(task)
    return as_mapping(read_task_file(file).get("metadata")).get("version") if file else None


def _with_documents(
    log: TaskLog, samples: Iterable[Sample], references: str | Path | None
) -> list[tuple[Sample, Mapping[str, Any]]]:
    """Pair each sample with its logged document, or with the document of the same id in a data folder.

    Raises:
        DataError: a document is missing from the data, or the data contain a different question for its id.
    """
    if references is None or has_shipped_data(log):
        return [(sample, sample.doc) for sample in samples]
    documents = _documents_by_id(log, references)
    return [(sample, _join(sample, documents, references)) for sample in samples]


def has_shipped_data(log: TaskLog) -> bool:
    """Return True if the run used the package's sample data, which include the answers."""
    return "sample" in _variants(log)


def _variants(log: TaskLog) -> tuple[str, ...]:
    named = benchmark_of_task(log.task)
    return named[1] if named else ()


def _documents_by_id(log: TaskLog, references: str | Path) -> dict[int, Mapping[str, Any]]:
    named = benchmark_of_task(log.task)
    if named is None:
        raise DataError(f"{log.file}: {log.task} is not a task of this package, so its data are unknown.")
    split = scored_split(named[1])
    return {doc["meta"]["id"]: doc for doc in load.load(named[0], data=references, scored=split)[split]}


def _join(sample: Sample, documents: Mapping[int, Mapping[str, Any]], references: str | Path) -> Mapping[str, Any]:
    identity = sample.doc["meta"].get("id")
    doc = documents.get(identity)
    if doc is None:
        raise DataError(f"{sample.location}: the data in {references} contain no document with the id {identity}.")
    if _question_and_format(doc) != _question_and_format(sample.doc):
        raise DataError(
            f"{sample.location}: in {references}, the id {identity} belongs to a different document. "
            "Pass the same data as the run used, with answers."
        )
    return doc


def _question_and_format(doc: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the fields of a document that affect the question or its scores."""
    return question_of(doc), dict(doc["answer_format"]), doc["meta"].get("group_id")


def score_log(responses: Responses, references: str | Path | None = None) -> Rescored:
    """Score a log's responses with both filters and all metrics except the judge score.

    Args:
        responses: the log's responses.
        references: a data folder, whose documents replace the logged documents with the same ids; None to use the
            logged documents.

    Returns:
        A row for each logged line of these filters. Rows without a reference have no scores.

    Raises:
        DataError: a document is missing from the data, or the data contain a different question for its id.
    """
    log = responses.log
    pairs = _with_documents(log, [one for one in responses.samples if one.filter in (STRICT, FLEXIBLE)], references)
    rows = [ScoredSample(sample, _scores(log, sample, doc), _reference(doc)) for sample, doc in pairs]
    return Rescored(log, rows, bool(responses.incomplete & {STRICT, FLEXIBLE}))


def _scores(log: TaskLog, sample: Sample, doc: Mapping[str, Any]) -> Mapping[str, Any]:
    """Score a response as the harness does, with the filter of its sample."""
    if sample.filter != FLEXIBLE:
        return score.score_strict(doc, sample.response)
    found = score.extract_from(doc, sample.response, continued(log, sample.prompt))
    return score.score_flexible(doc, found.answer, found.visible)


def continued(log: TaskLog, prompt: str) -> str:
    """Return the end of the prompt that the response continues: an open reasoning tag and a prefilled marker."""
    return opening_mark(prompt) + prefix_of(log)


def prefix_of(log: TaskLog) -> str:
    """Return the prefilled end of the log's prompts, or an empty string if the task is not prefilled."""
    if log.config:
        prefix = log.config.get("gen_prefix")
        return prefix if isinstance(prefix, str) else ""
    return strict.MARKER if "prefill" in _variants(log) else ""


def judge_log(responses: Responses, settings: Settings, references: str | Path | None = None) -> Rescored:
    """Judge a log's responses.

    Args:
        responses: the log's responses.
        settings: the judge's settings.
        references: see `score_log`.
    """
    from mera_ru_tasks.judge.cache import exclusively
    from mera_ru_tasks.judge.run import judge

    log, judge_identity = responses.log, identity(judge_description(settings))
    pairs = _with_documents(log, [one for one in responses.samples if one.filter == STRICT], references)
    with exclusively(settings, log.file):
        judgements = judge(
            [(doc, opening_mark(sample.prompt) + sample.response) for sample, doc in pairs], settings, log.task
        )
    rows = [
        ScoredSample(
            sample,
            score.score_judged(doc, judgement.score),
            {"source": judgement.kind, "reason": judgement.reason, "judge": judge_identity, **_reference(doc)},
        )
        for (sample, doc), judgement in zip(pairs, judgements, strict=True)
    ]
    return Rescored(log, rows, STRICT in responses.incomplete)


def _reference(doc: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of the reference, by which comparisons detect that the references have changed."""
    return {"reference": score.reference_digest(doc)}
