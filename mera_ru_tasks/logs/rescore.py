"""Scores from lm-eval's sample logs, after the run: by the judge, or by everything else anew.

Every score comes from the functions that the harness calls, every mean and standard error from lm-eval's own. What
is written from them stands in rescored_files.py.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.data import load
from mera_ru_tasks.data.benchmarks import benchmark_of_task
from mera_ru_tasks.errors import DataError, RunError
from mera_ru_tasks.logs.lmeval import TaskLog, find_logs, is_ours, newest
from mera_ru_tasks.logs.samples import Sample, check_document
from mera_ru_tasks.scoring import score, strict
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT, group_mean

if TYPE_CHECKING:
    from mera_ru_tasks.judge.config import Settings


@dataclass(frozen=True)
class Row:
    """What is known of one document in one pipeline; a line of the files written.

    Attributes:
        sample: the logged sample.
        scores: the metrics' parts, by name; empty without a reference or verdict.
        notes: what else is written.
    """

    sample: Sample
    scores: Mapping[str, Any]
    notes: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """The row as it is written."""
        identity = {
            "doc_id": self.sample.doc_id,
            "id": self.sample.doc["meta"].get("id"),
            "filter": self.sample.pipeline,
        }
        return {**identity, "scores": dict(self.scores), **self.notes}


def our_logs(paths: Iterable[Path]) -> list[TaskLog]:
    """Find the newest log of each model and task under `paths`, of our tasks alone.

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
    log: TaskLog, pipeline: str, references: str | Path | None
) -> list[tuple[Sample, Mapping[str, Any]]]:
    """Read a log's samples of one pipeline, each with its document.

    Args:
        log: the log.
        pipeline: the pipeline's name.
        references: a data folder from which the documents are taken anew, joined by id; None to keep the logged ones.

    Raises:
        DataError: the data lack a document, or hold another question under its id.
        RunError: a logged document is not as our loader makes it.
    """
    samples = list(log.samples(pipeline))
    for sample in samples:
        check_document(sample, log.task)
    if references is None or has_shipped_data(log):
        return [(sample, sample.doc) for sample in samples]
    documents = _documents_by_id(log, references)
    return [(sample, _join(sample, documents, references)) for sample in samples]


def has_shipped_data(log: TaskLog) -> bool:
    """Whether a log is of the data that the package ships, whose answers it holds; no other data are for it."""
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
        raise DataError(f"{sample.place}: the data in {references} have no document with the id {identity}.")
    if _asked(doc) != _asked(sample.doc):
        raise DataError(
            f"{sample.place}: the document with the id {identity} is another one in {references}. "
            "Name the data that the run was made from, with their answers."
        )
    return doc


def _asked(doc: Mapping[str, Any]) -> tuple[Any, ...]:
    """What a document asks: its prompt, the form of the answer, and the group that it counts in."""
    inputs = {name: value for name, value in doc["inputs"].items() if value}
    return doc["instruction"], inputs, dict(doc["answer_format"]), doc["meta"].get("group_id")


def score_log(log: TaskLog, references: str | Path | None = None) -> list[Row]:
    """Score a log's responses in both pipelines, by every metric but the judge's; without references empty scores."""
    from mera_ru_tasks.harness import task

    extract = task.FlexibleExtract(_prefix(log))
    rows = []
    for pipeline in (STRICT, FLEXIBLE):
        for sample, doc in read_documents(log, pipeline, references):
            result = extract.apply([[sample.response]], [doc])[0] if pipeline == FLEXIBLE else sample.response
            rows.append(Row(sample, task.process_results(doc, [result]), _reference(doc)))
    return rows


def _prefix(log: TaskLog) -> str:
    """What the prompt ended in, which the response goes on from."""
    if log.config:
        prefix = log.config.get("gen_prefix")
        return prefix if isinstance(prefix, str) else ""
    return strict.MARKER if "prefill" in _variants(log) else ""


def judge_log(log: TaskLog, settings: Settings, references: str | Path | None = None) -> list[Row]:
    """Have a log's responses judged (see `judge.engine.judge`)."""
    from mera_ru_tasks.judge import engine

    documents = read_documents(log, STRICT, references)
    verdicts = engine.judge([(doc, sample.response) for sample, doc in documents], settings, log.task)
    return [
        Row(
            sample,
            score.score_judged(doc, verdict.score),
            {"source": verdict.kind, "reason": verdict.reason, **_reference(doc)},
        )
        for (sample, doc), verdict in zip(documents, verdicts, strict=True)
    ]


def _reference(doc: Mapping[str, Any]) -> dict[str, str]:
    """What tells later against which reference a score is: the answers may have come from other data than the run's."""
    return {"reference": score.reference_digest(doc)}


def aggregate(rows: Iterable[Row]) -> dict[str, Any]:
    """Put scores together as lm-eval does: for each metric and pipeline the value and its standard error."""
    from lm_eval.api.metrics import mean, mean_stderr

    values: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        for metric, value in row.scores.items():
            values[f"{metric},{row.sample.pipeline}"].append(value)
    results: dict[str, Any] = {}
    for name, parts in values.items():
        metric, _, pipeline = name.partition(",")
        grouped = METRICS[metric].grouped
        results[name] = group_mean(parts) if grouped else mean(parts)
        results[f"{metric}_stderr,{pipeline}"] = "N/A" if grouped or len(parts) < 2 else mean_stderr(parts)
    return results
