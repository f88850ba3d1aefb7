"""Score the responses in lm-eval's sample logs after the run, with or without a judge.

The scores come from the functions that the harness calls; `sidecar.py` aggregates and writes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data import load
from mera_ru_tasks.data.benchmarks import benchmark_of_task
from mera_ru_tasks.errors import DataError, RunError
from mera_ru_tasks.logs.lmeval import Sample, TaskLog, check_document, find_logs, is_ours, newest
from mera_ru_tasks.logs.sidecar import ScoredSample
from mera_ru_tasks.scoring import score, strict
from mera_ru_tasks.scoring.extract import opening_mark
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT

if TYPE_CHECKING:
    from mera_ru_tasks.judge.config import Settings


def our_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the newest log of each model and task under `paths`, only of this package's tasks.

    Raises:
        RunError: there is none, or a path is wrong.
    """
    found = newest(find_logs(paths))
    ours = [log for log in found if is_ours(log)]
    if not ours:
        names = ", ".join(sorted({log.task for log in found}))
        raise RunError(f"The logs are of other tasks ({names}). Name a run of this package's tasks, such as mera_ru.")
    return ours


def read_documents(
    log: TaskLog, filter_name: str, references: str | Path | None
) -> list[tuple[Sample, Mapping[str, Any]]]:
    """Read a log's samples of one filter, each with its document.

    Args:
        log: the log.
        filter_name: the filter's name.
        references: a data folder whose documents replace the logged ones, joined by id; None to keep these.

    Raises:
        DataError: the data lack a document, or hold another question under its id.
        RunError: a logged document has not the form in which this package loads documents.
    """
    samples = list(log.samples(filter_name))
    for sample in samples:
        check_document(sample, log.task)
    if references is None or has_shipped_data(log):
        return [(sample, sample.doc) for sample in samples]
    documents = _documents_by_id(log, references)
    return [(sample, _join(sample, documents, references)) for sample in samples]


def has_shipped_data(log: TaskLog) -> bool:
    """Return True if a log is of the package's own sample data, which hold their answers."""
    return "sample" in _variants(log)


def _variants(log: TaskLog) -> tuple[str, ...]:
    named = benchmark_of_task(log.task)
    return named[1] if named else ()


def _documents_by_id(log: TaskLog, references: str | Path) -> dict[int, Mapping[str, Any]]:
    named = benchmark_of_task(log.task)
    if named is None:
        raise DataError(f"{log.file}: the task {log.task} is not one of this package's, so its data are not known.")
    split = "shots" if "shots" in named[1] else "test"
    return {doc["meta"]["id"]: doc for doc in load.load(named[0], data=references, scored=split)[split]}


def _join(sample: Sample, documents: Mapping[int, Mapping[str, Any]], references: str | Path) -> Mapping[str, Any]:
    identity = sample.doc["meta"].get("id")
    doc = documents.get(identity)
    if doc is None:
        raise DataError(f"{sample.location}: the data in {references} have no document with the id {identity}.")
    if _asked(doc) != _asked(sample.doc):
        raise DataError(
            f"{sample.location}: the document with the id {identity} is another one in {references}. "
            "Name the data that the run was made from, with their answers."
        )
    return doc


def _asked(doc: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what identifies a question: its prompt, answer format and group."""
    inputs = {name: value for name, value in doc["inputs"].items() if value}
    return doc["instruction"], inputs, dict(doc["answer_format"]), doc["meta"].get("group_id")


def score_log(log: TaskLog, references: str | Path | None = None) -> list[ScoredSample]:
    """Score a log's responses in both filters by every metric but the judge's; without references, scores are empty."""
    prefix = _prefix(log)
    rows = []
    for name in (STRICT, FLEXIBLE):
        for sample, doc in read_documents(log, name, references):
            scores = score.score_response(doc, sample.response, prefix=opening_mark(sample.prompt) + prefix)
            rows.append(ScoredSample(sample, scores.strict if name == STRICT else scores.flexible, _reference(doc)))
    return rows


def _prefix(log: TaskLog) -> str:
    """Return the end of the prompt that the response continues; empty if the task is not prefilled."""
    if log.config:
        prefix = log.config.get("gen_prefix")
        return prefix if isinstance(prefix, str) else ""
    return strict.MARKER if "prefill" in _variants(log) else ""


def judge_log(log: TaskLog, settings: Settings, references: str | Path | None = None) -> list[ScoredSample]:
    """Have a log's responses judged (see `judge.run.judge`)."""
    from mera_ru_tasks.judge.run import judge

    documents = read_documents(log, STRICT, references)
    responses = [(doc, opening_mark(sample.prompt) + sample.response) for sample, doc in documents]
    judgements = judge(responses, settings, log.task)
    return [
        ScoredSample(
            sample,
            score.score_judged(doc, judgement.score),
            {"source": judgement.kind, "reason": judgement.reason, **_reference(doc)},
        )
        for (sample, doc), judgement in zip(documents, judgements, strict=True)
    ]


def _reference(doc: Mapping[str, Any]) -> dict[str, str]:
    """Return the reference's digest: the answers may be of other data than the run's, and comparisons must know."""
    return {"reference": score.reference_digest(doc)}
