"""Load the answers of each model to each task, and report invalid data instead of scoring them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mera_ru_tasks.compare.notes import Number, merged, note
from mera_ru_tasks.compare.select import choose
from mera_ru_tasks.compare.stats import ONE_RUN, RunVariance
from mera_ru_tasks.data.benchmarks import Benchmark, benchmark_of_task
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.issues import Issue, RunError, errors
from mera_ru_tasks.judge.config import METADATA, identity
from mera_ru_tasks.logs import sidecar
from mera_ru_tasks.logs.find import TaskLog, as_mapping
from mera_ru_tasks.logs.reader import NOTHING, LogCheck, LogReader, Measure, Sample
from mera_ru_tasks.logs.rescore import check_responses, prefix_of
from mera_ru_tasks.scoring.metrics import FLEXIBLE, METRICS, STRICT, whole_groups
from mera_ru_tasks.scoring.score import reference_digest
from mera_ru_tasks.secrets import secrets_in, without

PREFILLED = "prefilled"


@dataclass(frozen=True)
class LoggedVerdict:
    """A judge's verdict on an answer, from the log or from a judged file.

    Attributes:
        judge: the judge's name. Empty if the verdict was given during the run.
        score: 0, 0.5 or 1, or None if there is no verdict.
        reason: the judge's reason, or the reason why there is no verdict.
    """

    judge: str
    score: float | None
    reason: str


@dataclass(slots=True)
class Answer:
    """One model's answer to one document.

    Attributes:
        doc_id: the document's index in its split, starting at 0.
        doc: the document.
        prompt: the prompt that the model received.
        prompt_hash: lm-eval's hash of the prompt.
        generation: the generation settings.
        response: the model's response.
        extractions: the result of each filter.
        verdicts: the verdicts of all judges.
    """

    doc_id: int
    doc: Mapping[str, Any]
    prompt: str
    prompt_hash: str
    generation: Mapping[str, Any]
    response: str
    extractions: dict[str, str] = field(default_factory=dict)
    verdicts: Sequence[LoggedVerdict] = ()


# Each document's value by measure and document hash. It is a number, or (group, size, correct) for a group metric.
Scores = dict[Measure, dict[str, Any]]
# The digests of the references for scores that were computed after the run (see `scoring.score.reference_digest`). None
# stands for an unknown reference.
References = dict[Measure, dict[str, "str | None"]]


@dataclass(frozen=True)
class Entry:
    """One model's results on one task.

    Attributes:
        model: the model's label in the comparison.
        task: the task's name in the comparison, without `_prefill` if runs with different settings are compared.
        log: the log that contains the answers.
        benchmark: the task's benchmark, or None for a custom dataset.
        answers: the answers, keyed by lm-eval's hash of the document.
        scores: see `Scores`.
        references: see `References`.
        size: the number of documents in the task. Without a results file, the number of documents in the log.
        judges: for each filter, the judge of its judge scores (see `judge.config.identity`); None if unknown.
        runs: older runs of the same model that are pooled with this run. Scores are then means over all runs.
        incomplete: the filters whose scores must be marked because the log may be incomplete (see `LogCheck`).
    """

    model: str
    task: str
    log: TaskLog
    benchmark: Benchmark | None
    answers: Mapping[str, Answer]
    scores: Scores
    references: References
    size: int
    judges: Mapping[str, Mapping[str, Any] | None]
    runs: Sequence[Entry] = ()
    incomplete: frozenset[str] = frozenset()

    @property
    def prefilled(self) -> bool:
        """True if each prompt already ends with the marker `Ответ:`."""
        return bool(prefix_of(self.log))

    @cached_property
    def type_field(self) -> str | None:
        """The `meta` field that contains a document's type, or None if the task has no types."""
        if self.benchmark:
            return self.benchmark.type_field
        name = as_mapping(self.log.config.get("dataset_kwargs")).get("mera_ru_type_field")
        return name if isinstance(name, str) else None

    def type_of(self, doc: Mapping[str, Any]) -> int | None:
        """Return a document's type, or None if the task has no types."""
        kind = doc["meta"].get(self.type_field) if self.type_field else None
        return kind if isinstance(kind, int) else None

    @property
    def measures(self) -> list[Measure]:
        """Return the (metric, filter) pairs for which at least one answer has a score."""
        return [measure for measure, parts in self.scores.items() if parts]

    def is_unverified(self, measure: Measure) -> bool:
        """Return True if a measure's scores must be marked because responses may be missing from the log."""
        # Judges see the responses of the strict filter.
        source = STRICT if METRICS[measure[0]].judged else measure[1]
        return any(source in entry.incomplete for entry in (self, *self.runs))

    def reference(self, measure: Measure, key: str) -> str | None:
        """Return the digest of the reference behind a document's score; None if it is not known."""
        rescored = self.references.get(measure, {})
        return rescored[key] if key in rescored else reference_digest(self.answers[key].doc)

    def values(self, measure: Measure) -> Mapping[str, float]:
        """Return a measure's values by document, or for a group metric by group. Incomplete groups are left out."""
        if measure not in self._values:
            self._values[measure] = self._computed(measure)
        return self._values[measure]

    @cached_property
    def _values(self) -> dict[Measure, Mapping[str, float]]:
        """The cached results of `values`. Each comparison of two models needs them again."""
        return {}

    def run_variance(self, measure: Measure) -> RunVariance:
        """Return the variance between the pooled runs for a measure."""
        if not self.runs:
            return ONE_RUN
        keys = list(self.values(measure))
        means = [np.mean([np.divide(*_pair(values[key])) for key in keys]) for values in self._by_run(measure)]
        return RunVariance(float(np.var(means, ddof=1)) / len(means), len(means) - 1)

    def _by_run(self, measure: Measure) -> list[Mapping[str, Any]]:
        return [self._of_one_run(measure), *(run.values(measure) for run in self.runs)]

    def _computed(self, measure: Measure) -> Mapping[str, Any]:
        if not self.runs:
            return self._of_one_run(measure)
        runs = self._by_run(measure)
        common = [key for key in runs[0] if all(key in values for values in runs)]
        return {key: np.mean([values[key] for values in runs], axis=0) for key in common}

    def _of_one_run(self, measure: Measure) -> Mapping[str, Any]:
        parts = self.scores.get(measure, {})
        if not METRICS[measure[0]].grouped:
            return parts
        return {_group_name(group): float(right) for group, right in whole_groups(parts.values()).items()}

    def counted(self, measure: Measure) -> list[str]:
        """Return the hashes of the documents whose scores are included in a measure's values."""
        whole = self.values(measure)
        if not METRICS[measure[0]].grouped:
            return list(whole)
        return [key for key, (group, *_) in self.scores[measure].items() if _group_name(group) in whole]

    @cached_property
    def clusters(self) -> Mapping[str, int]:
        """Return a mapping from document hash to group, for documents that have a group."""
        # The loader adds `group_size` if documents are scored in groups. Otherwise, `group_id` may be anything.
        metas = ((key, answer.doc["meta"]) for key, answer in self.answers.items())
        return {key: meta["group_id"] for key, meta in metas if meta.get("group_size") is not None}


def _pair(value: Any) -> tuple[Any, Any]:
    """Return the numerator and the denominator of a value. A plain number has the denominator 1."""
    return (value[0], value[1]) if isinstance(value, (list, tuple, np.ndarray)) else (value, 1.0)


def _group_name(group: int) -> str:
    return f"group {group}"


@dataclass
class Pool:
    """A store for documents and settings, which several answers share."""

    documents: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _generation: Mapping[str, Any] = field(default_factory=dict)

    def generation(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the generation settings. Reuse the previous object if the settings have not changed."""
        if settings != self._generation:
            self._generation = settings
        return self._generation


@dataclass(frozen=True)
class Loaded:
    """The loaded entries and notes on the logs.

    Attributes:
        entries: the entries, in the order of the paths.
        choices: notes on the selected logs, one for each run.
        issues: notes on issues in the logs.
    """

    entries: Sequence[Entry]
    choices: Sequence[Issue]
    issues: Sequence[Issue]


def load(
    paths: Sequence[Path], names: Mapping[Path, str], *, across_settings: bool = False, pool_runs: bool = False
) -> Loaded:
    """Read the newest log of each model and task, and the older logs to pool with it.

    Args:
        paths: see `logs.find.find_logs`.
        names: the model names to use instead of lm-eval's, by path.
        across_settings: True to treat a `_prefill` task as the plain task. Its models are then labelled `prefilled`.
        pool_runs: True to pool all runs of a model with the same settings, False for only runs with different seeds.

    Raises:
        RunError: no log can be read, or a name belongs to several models.
    """
    chosen = choose(paths, names, pool_runs=pool_runs)
    issues = [*chosen.issues]
    pool = Pool()
    entries = []
    # Loading creates millions of objects without cycles. Searching them for cycles would take a fifth of the time.
    gc.disable()
    try:
        for log in chosen.logs:
            logs = [log, *chosen.pooled.get((log.run.model, log.task), ())]
            read = (_read(one, chosen.labels[log.run.model], across_settings, pool, issues) for one in logs)
            if found := [entry for entry in read if entry]:
                entries.append(replace(found[0], runs=found[1:]) if len(found) > 1 else found[0])
    finally:
        gc.enable()
    if not entries:
        raise RunError("\n".join(["There are no usable scores to compare.", *map(str, merged(issues))]))
    return Loaded(entries, chosen.choices, merged(issues))


def _read(log: TaskLog, model: str, across_settings: bool, pool: Pool, issues: list[Issue]) -> Entry | None:
    benchmark = known[0] if (known := benchmark_of_task(log.task)) else None
    answers, scores, check = read_answers(log, pool)
    # `choose` already reports a missing results file.
    issues += [_as_note(issue, model) for issue in check.issues if issue.code != "no-results-file"]
    if not answers or (check.contradicted and not scores):
        return None
    references: References = {}
    judges, found = _add_rescored(log, model, answers, scores, references)
    issues += found
    if not check.incomplete and log.size is not None and len(answers) < log.size:
        issues.append(note("limited", model, task=log.task, run=len(answers), all=log.size))
    size = log.size or max(len(answers), log.scored or 0)
    task = log.task
    if across_settings and prefix_of(log):
        task, model = task.replace("_prefill", ""), f"{model} · {PREFILLED}"
    entry = Entry(model, task, log, benchmark, answers, scores, references, size, judges, incomplete=check.incomplete)
    if not entry.measures:
        issues.append(_unscored(log, entry))
    return entry


def _as_note(issue: Issue, model: str) -> Issue:
    """Convert an issue of a log into a note on a model, which has texts in both languages."""
    values: dict[str, object] = {"log": issue.location, **dict(issue.values)}
    for name in {"logged", "stated"} & values.keys():
        values[name] = note("nothing") if values[name] == NOTHING else Number(values[name])
    return note(issue.code, model, **values)


def _unscored(log: TaskLog, entry: Entry) -> Issue:
    if log.run.config.get("predict_only") or any("bypass" in name for name in log.scores):
        why = "predict-only"
    elif not any(has_reference(answer.doc) for answer in entry.answers.values()):
        why = "no-references"
    else:
        why = "no-scores"
    return note("unscored", entry.model, file=log.file.name, why=note(why))


def read_answers(log: TaskLog, pool: Pool) -> tuple[dict[str, Answer], Scores, LogCheck]:
    """Read a log, without scores that contradict its results file.

    Args:
        log: the log.
        pool: objects that answers share, each stored once; this function adds to it.

    Returns:
        The answers, keyed by lm-eval's hash of the document, their scores, and the issues found in the log.
    """
    answers: dict[str, Answer] = {}
    scores: Scores = {}
    reader = LogReader(log, known_documents=pool.documents)
    secrets = frozenset(secrets_in(log.run.results))
    for sample in reader:
        if secrets:
            sample.prompt, sample.response = without((sample.prompt, sample.response), secrets)
        answer = answers.get(sample.doc_hash)
        if answer is None:
            answer = answers[sample.doc_hash] = _answer(sample, pool)
        answer.extractions[sample.filter] = sample.filtered
        for name, part in sample.scores.items():
            scores.setdefault((name, sample.filter), {})[sample.doc_hash] = part
    check = reader.check()
    # Read the log again only if its responses must be rescored. Keeping all its lines would take too much memory.
    if found := tuple(check_responses(log, LogReader(log, known_documents=pool.documents), check)):
        contradicted = scores if errors(found) else ()
        check = replace(check, issues=(*check.issues, *found), contradicted=check.contradicted.union(contradicted))
    for measure in check.contradicted:
        scores.pop(measure, None)
    for key, score in scores.get(("judge_score", STRICT), {}).items():
        answers[key].verdicts = (LoggedVerdict("", score, ""),)
    return answers, scores, check


def _answer(sample: Sample, pool: Pool) -> Answer:
    return Answer(
        sample.doc_id,
        sample.doc,
        sys.intern(sample.prompt),
        sample.prompt_hash,
        pool.generation(sample.generation),
        sample.response,
    )


def _add_rescored(
    log: TaskLog, model: str, answers: Mapping[str, Answer], scores: Scores, references: References
) -> tuple[dict[str, Mapping[str, Any] | None], list[Issue]]:
    """Add scores from the files next to a log to its scores; scores from `mera-ru score` replace the logged ones.

    Returns:
        The judge of each filter's judge scores (see `judge.config.identity`; None for an unknown judge), and notes on
        the files.
    """
    by_id = {answer.doc_id: key for key, answer in answers.items()}
    notes: list[Issue] = []
    judges: dict[str, Mapping[str, Any] | None] = {
        STRICT: identity(as_mapping(log.config.get("metadata")).get(METADATA))
    }
    for file in sidecar.score_files(log):
        try:
            lines = file.read()
        except (OSError, RunError):
            notes.append(note("unused-scores", model, file=file.lines.name, other=file.results.name))
            continue
        wanted = {
            (answer.doc_id, answer.doc["meta"].get("id"), name)
            for answer in answers.values()
            for name in ((STRICT,) if file.judge else (STRICT, FLEXIBLE))
            if name in answer.extractions
        }
        if {(line.doc_id, line.id, line.filter) for line in lines} != wanted:
            notes.append(note("unused-scores", model, file=file.lines.name, other=log.file.name))
            continue
        if not file.judge:
            notes.append(_replace_scores(file, model, by_id, scores, lines))
        judge_filter = f"judge {file.judge}"
        for line in lines:
            key, filter_name = by_id[line.doc_id], judge_filter if file.judge else line.filter
            for name, part in line.scores.items():
                scores.setdefault((name, filter_name), {})[key] = part
                references.setdefault((name, filter_name), {})[key] = line.reference
            if file.judge:
                verdict = LoggedVerdict(file.judge, line.scores.get("judge_score"), line.reason)
                answers[key].verdicts = (*answers[key].verdicts, verdict)
        if file.judge:
            found = [line.judge for line in lines]
            judges[judge_filter] = found[0] if found and all(one == found[0] for one in found) else None
    return judges, notes


def _replace_scores(
    file: sidecar.ScoreFile, model: str, by_id: Mapping[int, str], scores: Scores, lines: Sequence[sidecar.ScoreLine]
) -> Issue:
    """Drop the logged scores that a file of `mera-ru score` replaces, and return a note on them."""
    changed = 0
    for line in lines:
        for (name, filter_name), parts in scores.items():
            if filter_name == line.filter and not METRICS[name].judged and by_id[line.doc_id] in parts:
                # A score that is missing from the file is dropped too, because `mera-ru score` also leaves it out.
                changed += parts.pop(by_id[line.doc_id]) != line.scores.get(name)
    differs = note("differs", n=changed) if changed else ""
    return note("rescored", model, task=file.log.task, file=file.lines.name, differs=differs)
