"""Read one sample log, and decide whether it is complete.

A log is complete if it holds each document of the run once for each filter, if its lines have the hash that the run's
results file states, and if its scores aggregate to the scores in that file. Every command reads logs through this
module, so that every number from a damaged log is marked.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, benchmark_of_task
from mera_ru_tasks.issues import Issue, RunError
from mera_ru_tasks.logs.find import TaskLog
from mera_ru_tasks.paths import bounded_lines, open_regular
from mera_ru_tasks.scoring.metrics import METRICS, STRICT, total_ratio, whole_groups
from mera_ru_tasks.textutil import quoted, read_json

# A metric and a filter.
Measure = tuple[str, str]

_COPY_AGAIN = "Copy the log and its results file again, or run again."
# With several processes, lm-eval adds up the same numbers in a different order.
_TOLERANCE = 1e-9


@dataclass(slots=True)
class Sample:
    """One line of a sample log: one document in one filter.

    Attributes:
        file: the log's name, for messages.
        line: the line's number, from 1.
        doc_id: the document's number in its split, from 0.
        doc: the document (see `data`).
        filter: the filter's name.
        prompt: the prompt that the model was given, after its chat template if there is one.
        generation: the generation settings sent with the prompt.
        response: the model's whole response; the first if there are several, as in the filters. Empty for a ranking
            task.
        filtered: the filter's result; empty for a ranking task.
        options: in a ranking task, for each option its log-likelihood and whether it is the greedy continuation.
        scores: the metrics' parts by name; empty for a document without a reference and after `--predict_only`.
        doc_hash: lm-eval's hash of the document.
        prompt_hash: lm-eval's hash of the prompt.
        target_hash: lm-eval's hash of the reference.
    """

    file: str
    line: int
    doc_id: int
    doc: Mapping[str, Any]
    filter: str
    prompt: str
    generation: Mapping[str, Any]
    response: str
    filtered: str
    options: tuple[tuple[float, bool], ...]
    scores: Mapping[str, Any]
    doc_hash: str
    prompt_hash: str
    target_hash: str

    @property
    def location(self) -> str:
        """The file and line, for messages."""
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class LogCheck:
    """The result of checking a whole log.

    Attributes:
        issues: everything that is wrong or noteworthy.
        incomplete: the filters for which the log may not hold each document of the run exactly once. Numbers from their
            lines must be marked.
        contradicted: the measures whose scores do not aggregate to the results file. Their numbers must not be shown.
    """

    issues: tuple[Issue, ...]
    incomplete: frozenset[str]
    contradicted: frozenset[Measure]


class LogReader:
    """A reader of one log: iterate over its samples, then call `check`."""

    def __init__(self, log: TaskLog, *, known_documents: dict[str, Mapping[str, Any]] | None = None) -> None:
        """Prepare to read a log.

        Args:
            log: the log.
            known_documents: checked documents by their hash, which several logs may share; this reader adds to it.
        """
        self.log = log
        # Without folders: messages may leave the machine in a report.
        self._name = log.file.name
        self._known_documents = {} if known_documents is None else known_documents
        self._broken: list[RunError] = []
        self._repeated = 0
        self._hash = hashlib.sha256()
        # The hash and response of each document; all its lines must agree on them.
        self._documents: dict[int, tuple[str, str]] = {}
        self._seen: defaultdict[str, set[int]] = defaultdict(set)
        self._sums: defaultdict[Measure, list[Any]] = defaultdict(lambda: [0, 0.0])
        self._parts: defaultdict[Measure, list[Any]] = defaultdict(list)

    def __iter__(self) -> Iterator[Sample]:
        """Yield each usable line in the order of the log; of repeated lines, only the first."""
        with open_regular(self.log.file) as stream:
            for number, line in enumerate(bounded_lines(stream, str(self.log.file)), start=1):
                if line.isspace():
                    continue
                try:
                    sample = self._take(number, line)
                except RunError as error:
                    self._broken.append(error)
                    continue
                if sample is not None:
                    yield sample

    def _take(self, number: int, line: bytes) -> Sample | None:
        """Parse and count one line; return None for a repeated line, raise RunError for a line that is not usable."""
        sample = parse_sample(self._name, number, line)
        doc_id, seen = sample.doc_id, self._seen[sample.filter]
        if doc_id in seen:
            self._repeated += 1
            return None
        first = self._documents.get(doc_id)
        if first is None:
            self._check_document(sample)
            self._documents[doc_id] = sample.doc_hash, sample.response
        elif first != (sample.doc_hash, sample.response):
            if first != (sample.doc_hash, "") or sample.response != "None":
                raise RunError(
                    f"{sample.location}: the document or response differs from an earlier line with this `doc_id`."
                )
            sample.response = ""  # see `_sample`
        seen.add(doc_id)
        self._hash.update((sample.doc_hash + sample.prompt_hash + sample.target_hash).encode("utf-8", "replace"))
        for name, part in sample.scores.items():
            if type(part) is float:
                entry = self._sums[name, sample.filter]
                entry[0] += 1
                entry[1] += part
            else:
                self._parts[name, sample.filter].append(part)
        return sample

    def _check_document(self, sample: Sample) -> None:
        known = self._known_documents.get(sample.doc_hash)
        if known is not None and known == sample.doc:
            sample.doc = known
            return
        check_document(sample, self.log.task)
        self._known_documents.setdefault(sample.doc_hash, sample.doc)

    def check(self) -> LogCheck:
        """Compare the log with its results file. Call this after iterating over all samples."""
        issues: list[Issue] = []
        if self._broken:
            issues.append(self._broken_lines())
        if self._repeated:
            what = f"{self._repeated} lines repeat a document in the same filter; only the first of each was used"
            issues.append(self._issue("repeated-lines", what, n=self._repeated))
        if self.log.run.results_file is None:
            name = self.log.run.results_name
            what = f"its results file, {name}, is not next to it, so the log may be incomplete"
            issues.append(self._issue("no-results-file", what, "Put the file back.", results=name))
            return LogCheck(tuple(issues), frozenset(self._seen), frozenset())
        if self.log.task not in self.log.run.tasks:
            what = f"its results file does not list the task {self.log.task}, so no scores of this log are shown"
            issues.append(self._error("not-in-results", what, task=self.log.task))
            return LogCheck(tuple(issues), frozenset(self._seen), frozenset({*self._sums, *self._parts}))
        whole = self.log.hash == self._hash.hexdigest()
        if not whole:
            issues += self._missing(explained=bool(issues))
        contradictions = dict(self._contradictions(whole))
        # Invalid or missing lines of one filter do not affect another filter whose scores are complete.
        explained = not whole and issues[-1].code not in ("other-lines", "no-hash")
        sure = {name for _, name in self._stated() if explained and self._all_there(name)}
        sure -= {name for _, name in contradictions}
        incomplete = frozenset() if whole else frozenset(self._seen) - sure
        return LogCheck((*issues, *contradictions.values()), incomplete, frozenset(contradictions))

    def _all_there(self, filter_name: str) -> bool:
        """Return True if the filter has as many documents as the results file counts."""
        return len(self._seen[filter_name]) == len(self._documents) == self.log.scored

    def _broken_lines(self) -> Issue:
        number, first = len(self._broken), str(self._broken[0])
        what = f"{number} lines are invalid and were ignored; {first}"
        return self._issue("broken-lines", what, n=number, fault=first)

    def _missing(self, *, explained: bool) -> Iterator[Issue]:
        """Yield issues on differences between the log and the run.

        Args:
            explained: True if other issues already explain the difference.
        """
        held, ran = len(self._documents), self.log.scored or 0
        filters = {name for _, name in self._stated()} | set(self._seen)
        lines = sum(held - len(self._seen[name]) for name in filters)
        if lines:
            names = ", ".join(sorted(filters))
            what = f"{lines} lines are missing: some documents are not logged in every filter ({names})"
            yield self._issue("missing-lines", what, n=lines)
        if held < ran:
            what = f"it contains {held} of the {ran} documents that were run, so it is incomplete"
            yield self._issue("missing-documents", what, held=held, run=ran)
        if self.log.hash is None:
            what = "its results file has no hash of it, so the log may be incomplete"
            yield self._issue("no-hash", what)
        elif not explained and not lines and held >= ran:
            yield self._issue("other-lines", "its lines do not belong to the run described in its results file")

    def _contradictions(self, whole: bool) -> Iterator[tuple[Measure, Issue]]:
        """Yield the measures on which the log and the results file disagree."""
        stated = self._stated()
        for measure in dict.fromkeys((*stated, *self._sums, *self._parts)):
            logged, claimed = self._logged(measure), stated.get(measure)
            if not self._agree(measure, logged, claimed, whole):
                name = ",".join(measure)
                values = {"measure": name, "logged": _shown(logged), "stated": _shown(claimed)}
                what = f"its lines give {_shown(logged)} for {name}, but its results file says {_shown(claimed)}"
                yield measure, self._error("contradicts-results", f"{what}, so this score is not shown", **values)

    def _agree(self, measure: Measure, logged: float | None, stated: float | None, whole: bool) -> bool:
        if stated is not None and math.isnan(stated):
            # No group is complete, or a process had no verdict (see `scoring.score.score_judged`).
            return True
        if logged is None or stated is None:
            # A log that lacks lines may lack all scores of a measure.
            return logged is stated or (logged is None and not whole)
        if whole or self._all_there(measure[1]):
            return math.isclose(logged, stated, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        metric = METRICS[measure[0]]
        if metric.grouped or metric.ratio or metric.judged or not metric.bounded or not self.log.scored:
            return True
        # The missing documents, whose scores are from 0 to 1, must account for the difference.
        number, total = self._sums[measure]
        rest: float = stated * self.log.scored - total
        return bool(-_TOLERANCE <= rest / self.log.scored <= (self.log.scored - number) / self.log.scored + _TOLERANCE)

    def _stated(self) -> dict[Measure, float]:
        """Return the scores in the results file, by measure."""
        found = {}
        for name, value in self.log.scores.items():
            metric, _, filter_name = name.partition(",")
            if metric in METRICS and isinstance(value, (int, float)):
                found[metric, filter_name] = float(value)
        return found

    def _logged(self, measure: Measure) -> float | None:
        """Aggregate the log's scores in a measure; None if there are none."""
        metric, parts = METRICS[measure[0]], self._parts[measure]
        if metric.grouped:
            groups = whole_groups(parts).values()
            return sum(groups) / len(groups) if groups else None
        if metric.ratio:
            return total_ratio(parts) if parts else None
        number, total = self._sums[measure]
        return total / number if number else None

    def _issue(self, code: str, message: str, hint: str = _COPY_AGAIN, **values: object) -> Issue:
        return Issue(code, "warning", self._name, message, hint, values=tuple(values.items()))

    def _error(self, code: str, message: str, **values: object) -> Issue:
        return replace(self._issue(code, message, _COPY_AGAIN, **values), severity="error")


def read_log(log: TaskLog) -> tuple[list[Sample], LogCheck]:
    """Read all usable samples of a log."""
    reader = LogReader(log)
    return list(reader), reader.check()


def is_our_log(log: TaskLog) -> bool:
    """Return True if a log's first readable line belongs to a task of this package or a custom task."""
    if benchmark_of_task(log.task):
        return True
    with open_regular(log.file) as stream:
        for number, line in enumerate(bounded_lines(stream, str(log.file)), start=1):
            try:
                return "answer_format" in parse_sample(log.file.name, number, line).doc
            except RunError:
                continue
    return False


def parse_samples(lines: Iterable[bytes], file: str) -> Iterator[Sample]:
    """Parse the lines of a sample log; `file` is its name for messages.

    Lines are bytes, split only at line feeds: text would also be split at other line separators in responses.

    Raises:
        RunError: a line is truncated, not JSON or not a sample; the message names file and line.
    """
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            yield parse_sample(file, number, line)


def parse_sample(file: str, number: int, line: bytes) -> Sample:
    """Parse one line; `file` and `number` are for messages.

    Raises:
        RunError: the line is truncated, not JSON or not a sample.
    """
    try:
        row = read_json(line)
    except ValueError as error:
        cut = " The last line is truncated: the run or its copy stopped halfway." if not line.endswith(b"\n") else ""
        raise RunError(
            f"{file}, line {number}: it is not valid JSON ({error}).{cut} Copy the log again, or run again."
        ) from error
    if type(row) is not dict:
        raise RunError(f"{file}, line {number}: it is not a JSON object, so it is not a sample of lm-eval.")
    try:
        return _sample(file, number, row)
    except _FieldError as field:
        raise RunError(
            f"{file}, line {number}: the field `{field}` is missing or not in the form of lm-eval 0.4.12 or later. "
            "Create the log with a newer lm-eval."
        ) from None


# The fields that every line has, with their types.
_FIELDS = {
    "doc_id": int, "doc": dict, "filter": str, "arguments": dict, "metrics": list, "doc_hash": str, "prompt_hash": str,
    "target_hash": str,
}  # fmt: skip
_fields = operator.itemgetter(*_FIELDS)
_TYPES = tuple(_FIELDS.values())


def _sample(file: str, number: int, row: Mapping[str, Any]) -> Sample:
    try:
        doc_id, doc, filter_name, arguments, metrics, doc_hash, prompt_hash, target_hash = values = _fields(row)
    except KeyError as missing:
        raise _FieldError(missing.args[0]) from None
    if tuple(map(type, values)) != _TYPES:
        raise _FieldError(next(name for name, kind in _FIELDS.items() if type(row[name]) is not kind))
    arguments = arguments.get("gen_args_0")
    if type(arguments) is not dict:
        raise _FieldError("arguments")
    generation = arguments.get("arg_1")
    response, filtered = "", ""
    options: tuple[tuple[float, bool], ...] = ()
    if type(generation) is str:  # the continuation of a log-likelihood request
        options = _options(row)
    else:
        response, filtered = _first(row, "resps"), _first(row, "filtered_resps")
        if filter_name == STRICT and filtered != response:
            # lm-eval logs an API's empty message (None) as "None"; the filter that keeps whole responses has "".
            if (response, filtered) != ("None", ""):
                raise _FieldError("filtered_resps")
            response = ""
    scores = {}
    for name in metrics:
        if type(name) is not str:
            raise _FieldError("metrics")
        part = row.get(name)
        # NaN is a missing verdict (see `scoring.score.score_judged`).
        if name in METRICS and not (name == "judge_score" and part != part):
            scores[name] = checked_part(name, part, file, number)
    return Sample(
        file, number, doc_id, doc, filter_name, _first(arguments, "arg_0"),
        generation if type(generation) is dict else {}, response, filtered, options, scores,
        doc_hash, prompt_hash, target_hash,
    )  # fmt: skip


class _FieldError(Exception):
    """Raised for a field that is missing or has the wrong form; the message is its name."""


def _first(row: Mapping[str, Any], field: str) -> str:
    """Return the first of the field's strings; `resps` holds a list of them for each request.

    A chat API's prompt is a list with one string: the messages as JSON.
    """
    value = row.get(field)
    while type(value) is list and value:
        value = value[0]
    if type(value) is not str:
        raise _FieldError(field)
    return value


def _options(row: Mapping[str, Any]) -> tuple[tuple[float, bool], ...]:
    """Return log-likelihood and greediness of each option, which lm-eval logs as text."""
    try:
        return tuple((float(reply[0][0]), str(reply[0][1]) == "True") for reply in row["resps"])
    except (ValueError, TypeError, LookupError):
        raise _FieldError("resps") from None


# A custom dataset's rows may hold anything else in `meta`.
_NUMBERS = ("id", "type", "task_type", "group_id", "group_size")


def _types(values: Mapping[str, Any]) -> dict[str, type]:
    return {name: type(value) for name, value in values.items()}


def check_document(sample: Sample, task: str) -> None:
    """Check that a sample's document matches lm-eval's hash and has the form in which this package loads it.

    Raises:
        RunError: the check fails.
    """
    doc = sample.doc
    inputs, meta, answer_format = doc.get("inputs"), doc.get("meta"), doc.get("answer_format")
    numbers = _NUMBERS if benchmark_of_task(task) else ("id",)
    good = {
        "instruction": isinstance(doc.get("instruction"), str),
        "inputs": isinstance(inputs, Mapping) and all(isinstance(text, str) for text in inputs.values()),
        "outputs": isinstance(doc.get("outputs"), str),
        "meta": isinstance(meta, Mapping) and all(isinstance(meta.get(name, 0), int) for name in numbers),
        "answer_format": isinstance(answer_format, Mapping)
        and set(PHRASE.as_dict()) <= set(answer_format)
        and _types({**vars(PHRASE), **answer_format}) == _types(vars(PHRASE)),
    }
    for name, is_good in good.items():
        if not is_good:
            raise RunError(
                f"{sample.location}: the document's field `{name}` is not in this package's form; this is not a log of "
                "its task. Run the task as the package defines it."
            )
    if hashlib.sha256(_hashed_text(doc, "\n").encode("utf-8", "surrogatepass")).hexdigest() != sample.doc_hash:
        raise RunError(
            f"{sample.location}: the document's hash does not match, so this is not the document that was run."
        )


def _hashed_text(value: Any, line: str) -> str:
    """Return a document as lm-eval hashes it: like `json.dumps` with an indent of 2, but five times as fast.

    Args:
        value: the document or a value in it.
        line: a line feed with the indent of the value.
    """
    if type(value) is str:
        return encode_basestring(value)
    if type(value) is list and value:
        return json.dumps(value, ensure_ascii=False, indent=2).replace("\n", line)
    if type(value) is not dict or not value:
        return json.dumps(value)
    inner = line + "  "
    fields = [f"{encode_basestring(name)}: {_hashed_text(field, inner)}" for name, field in value.items()]
    return "{" + inner + ("," + inner).join(fields) + line + "}"


def checked_part(name: str, part: Any, file: str, line: int) -> Any:
    """Return one document's part of a metric, a float or a tuple; raise RunError if it is not valid."""
    metric = METRICS[name]
    if metric.grouped:
        if type(part) is list and len(part) == 3 and set(map(type, part)) == {int} and part[2] in (0, 1):
            return tuple(part)
    elif metric.ratio:
        if type(part) is list and len(part) == 2 and all(_is_number(value) for value in part) and part[1] >= 0:
            return tuple(part)
    elif _is_number(part) and (0 <= part <= 1 or not metric.bounded):
        return float(part)
    raise RunError(
        f"{file}, line {line}: the metric `{name}` is {quoted(part)}, which is not a valid value of it. Run again."
    )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


@dataclass(frozen=True)
class BrokenLine:
    """An unusable line of a score file: its number, from 1, and the reason."""

    line: int
    message: str


def _shown(value: float | None) -> str:
    return "nothing" if value is None else f"{value:.6g}"
