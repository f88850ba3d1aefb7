"""Read a sample log and check that it is complete.

A complete log meets three conditions. It contains each document of the run once for each filter. The hash of its lines
equals the hash in the results file. The aggregates of its scores equal the scores in the results file. Every command
reads logs with this module, so that every number from a damaged log is marked.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from json.encoder import encode_basestring
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, benchmark_of_task
from mera_ru_tasks.data.schema import known_meta
from mera_ru_tasks.issues import Issue, RunError
from mera_ru_tasks.logs.find import TaskLog, as_mapping
from mera_ru_tasks.paths import LONGEST_LINE, bounded_lines, open_regular
from mera_ru_tasks.scoring.metrics import METRICS, STRICT, total_ratio, whole_groups
from mera_ru_tasks.textutil import plural, quoted, read_json

# A metric and a filter.
Measure = tuple[str, str]

# The key of the digest of a run's answers and scores in a task's `metadata`, which lm-eval writes into its results.
ANSWERS = "mera_ru_answers"

# The text for a missing score in an issue.
NOTHING = "nothing"

_COPY_AGAIN = "Copy the log and its results file again, or rerun the evaluation."
# If a run used several processes, lm-eval added the scores in a different order.
_TOLERANCE = 1e-9


@dataclass(slots=True)
class Sample:
    """One line of a sample log. Each line contains one document for one filter.

    Attributes:
        file: the log's name, for messages.
        line: the line number, starting at 1.
        doc_id: the document's index in its split, starting at 0.
        doc: the document (see `data`).
        filter: the filter's name.
        prompt: the prompt that the model received, with the chat template applied if the run used one.
        generation: the generation settings sent with the prompt.
        response: the model's whole response, or the first of several responses. Empty for a ranking task.
        filtered: the filter's result. Empty for a ranking task.
        options: for a ranking task, each option's log-likelihood and whether the option is the greedy continuation.
        scores: the document's value for each metric. Empty without a reference and in a `--predict_only` run.
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
    """The result of checking a log.

    Attributes:
        issues: the issues found.
        incomplete: the filters for which the log may lack or repeat documents of the run. Callers must mark scores from
            these filters.
        contradicted: the measures whose aggregate differs from the results file. Callers must not show their scores.
        as_scored: True if the digest in the results file confirms the log's responses and scores.
    """

    issues: tuple[Issue, ...]
    incomplete: frozenset[str]
    contradicted: frozenset[Measure]
    as_scored: bool = False


class LogReader:
    """A reader of one log: iterate over its samples, then call `check`."""

    def __init__(self, log: TaskLog, *, known_documents: dict[str, Mapping[str, Any]] | None = None) -> None:
        """Prepare to read a log.

        Args:
            log: the log.
            known_documents: documents already checked, by hash. The reader adds its own documents, so that several
                readers can share this dictionary.
        """
        self.log = log
        # Messages may be published in a report, so they contain no folder names.
        self._name = log.file.name
        self._known_documents = {} if known_documents is None else known_documents
        self._broken: list[RunError] = []
        self._repeated = 0
        self._hash = hashlib.sha256()
        self._answers = hashlib.sha256()
        # The hash and response of each document. They must be the same on all lines of the document.
        self._documents: dict[int, tuple[str, str]] = {}
        self._seen: defaultdict[str, set[int]] = defaultdict(set)
        self._sums: defaultdict[Measure, list[Any]] = defaultdict(lambda: [0, 0.0])
        self._parts: defaultdict[Measure, list[Any]] = defaultdict(list)

    def __iter__(self) -> Iterator[Sample]:
        """Yield the usable lines in log order. If lines repeat, yield only the first of them."""
        with open_regular(self.log.file) as stream:
            for number, line in enumerate(bounded_lines(stream), start=1):
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
        """Parse and count a line. Return None for a repeated line; raise RunError for an unusable one."""
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
            raise RunError(
                f"{sample.location}: the document or response differs from an earlier line with the same `doc_id`."
            )
        seen.add(doc_id)
        self._hash.update((sample.doc_hash + sample.prompt_hash + sample.target_hash).encode("utf-8", "replace"))
        if not sample.options:
            doc = self._known_documents[sample.doc_hash]  # only the first line's document is checked
            self._answers.update(answer_in_digest(doc, sample.filtered, sample.scores))
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
        """Compare the log with its results file. Call this method after iterating over all samples."""
        issues: list[Issue] = []
        if self._broken:
            issues.append(self._broken_lines())
        if self._repeated:
            repeat = plural(self._repeated, "line repeats", "lines repeat")
            what = f"{self._repeated} {repeat} a document for the same filter; only the first line was used"
            issues.append(self._issue("repeated-lines", what, n=self._repeated))
        if self.log.run.results_file is None:
            name = self.log.run.results_name
            what = f"the results file {name} is not in the same folder, so the log may be incomplete"
            issues.append(self._issue("no-results-file", what, "Restore the results file.", results=name))
            return LogCheck(tuple(issues), frozenset(self._seen), frozenset())
        if self.log.task not in self.log.run.tasks:
            what = f"the results file does not contain the task {self.log.task}, so no scores from this log are shown"
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
        as_scored = as_mapping(self.log.config.get("metadata")).get(ANSWERS) == self._answers.hexdigest()
        return LogCheck((*issues, *contradictions.values()), incomplete, frozenset(contradictions), as_scored)

    def _all_there(self, filter_name: str) -> bool:
        """Return True if the number of documents for the filter equals the number in the results file."""
        return len(self._seen[filter_name]) == len(self._documents) == self.log.scored

    def _broken_lines(self) -> Issue:
        number, first = len(self._broken), str(self._broken[0])
        lines = plural(number, "line is invalid and was", "lines are invalid and were")
        what = f"{number} {lines} ignored; {first}"
        return self._issue("broken-lines", what, n=number, error=first)

    def _missing(self, *, explained: bool) -> Iterator[Issue]:
        """Yield an issue for each difference between the log and the run.

        Args:
            explained: True if other issues already explain the difference.
        """
        held, ran = len(self._documents), self.log.scored or 0
        filters = {name for _, name in self._stated()} | set(self._seen)
        lines = sum(held - len(self._seen[name]) for name in filters)
        if lines:
            names = ", ".join(sorted(filters))
            are = plural(lines, "line is", "lines are")
            what = f"{lines} {are} missing: some documents have no line for one of the filters ({names})"
            yield self._issue("missing-lines", what, n=lines)
        if held < ran:
            what = f"the log contains only {held} of the run's {ran} documents"
            yield self._issue("missing-documents", what, held=held, run=ran)
        if self.log.hash is None:
            what = "the results file contains no hash of this log, so the log may be incomplete"
            yield self._issue("no-hash", what)
        elif not explained and not lines and held >= ran:
            yield self._issue("other-lines", "the lines of this log do not belong to the run in the results file")

    def _contradictions(self, whole: bool) -> Iterator[tuple[Measure, Issue]]:
        """Yield each measure whose values differ between the log and the results file, with an issue."""
        stated = self._stated()
        for measure in dict.fromkeys((*stated, *self._sums, *self._parts)):
            logged, claimed = self._logged(measure), stated.get(measure)
            if not self._agree(measure, logged, claimed, whole):
                name = ",".join(measure)
                values = {"measure": name, "logged": _shown(logged), "stated": _shown(claimed)}
                what = f"{name} is {_shown(logged)} in the log, but the results file says {_shown(claimed)}"
                yield measure, self._error("contradicts-results", f"{what}, so this score is not shown", **values)

    def _agree(self, measure: Measure, logged: float | None, stated: float | None, whole: bool) -> bool:
        if stated is not None and math.isnan(stated):
            # Either no group is complete, or a process had no verdict (see `scoring.score.score_judged`).
            return True
        if logged is None or stated is None:
            # If lines are missing, all scores of a measure may be missing.
            return logged is stated or (logged is None and not whole)
        if whole or self._all_there(measure[1]):
            return math.isclose(logged, stated, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
        metric = METRICS[measure[0]]
        if metric.grouped or metric.ratio or metric.judged or not metric.bounded or not self.log.scored:
            return True
        # Each missing document has a score between 0 and 1. Together they must account for the difference.
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
        """Return the aggregate of the logged scores for a measure, or None if there are no scores."""
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


def answer_in_digest(doc: Mapping[str, Any], filtered: str, scores: Mapping[str, Any]) -> bytes:
    """Return what one answer adds to the digest `ANSWERS` of a run.

    Args:
        doc: the document.
        filtered: the filter's result; `strict-match` keeps the whole response.
        scores: the document's value for each metric, with the types of the run or of its log. Judge scores are ignored.
    """
    parts = [
        (name, tuple(part) if isinstance(part, (tuple, list)) else float(part))
        for name, part in sorted(scores.items())
        if name in METRICS and not METRICS[name].judged
    ]
    return f"{doc['meta'].get('id')}\0{filtered}\0{parts}\n".encode("utf-8", "surrogatepass")


def read_log(log: TaskLog) -> tuple[list[Sample], LogCheck]:
    """Read all usable samples of a log."""
    reader = LogReader(log)
    return list(reader), reader.check()


def is_our_log(log: TaskLog) -> bool:
    """Return True if a log's first readable line belongs to a task of this package or a custom task."""
    if benchmark_of_task(log.task):
        return True
    with open_regular(log.file) as stream:
        for number, line in enumerate(bounded_lines(stream), start=1):
            try:
                return "answer_format" in parse_sample(log.file.name, number, line).doc
            except RunError:
                continue
    return False


def parse_samples(lines: Iterable[bytes], file: str) -> Iterator[Sample]:
    """Parse the lines of a sample log.

    Args:
        lines: the lines as bytes. Python splits bytes only at line feeds, but it also splits text at other line
            separators, which responses may contain.
        file: the log's name, for messages.

    Raises:
        RunError: a line is truncated, not JSON or not a sample.
    """
    for number, line in enumerate(lines, start=1):
        if not line.isspace():
            yield parse_sample(file, number, line)


def parse_sample(file: str, number: int, line: bytes) -> Sample:
    """Parse a line of a sample log. Messages use `file` and `number`.

    Raises:
        RunError: the line is too long, truncated, not JSON or not a sample.
    """
    if len(line) > LONGEST_LINE:
        raise RunError(f"{file}, line {number}: longer than {LONGEST_LINE >> 20} MiB. The rest of the log is not read.")
    try:
        row = read_json(line)
    except ValueError as error:
        cut = " The last line is truncated: the run or the copy was interrupted." if not line.endswith(b"\n") else ""
        raise RunError(
            f"{file}, line {number}: not valid JSON ({error}).{cut} Copy the log again, or rerun the evaluation."
        ) from error
    if type(row) is not dict:
        raise RunError(f"{file}, line {number}: not a JSON object. Every line of an lm-eval sample log is an object.")
    try:
        return _sample(file, number, row)
    except _FieldError as field:
        raise RunError(
            f"{file}, line {number}: the field `{field}` is missing or does not have the format of lm-eval 0.4.12 or "
            "later. Rerun the evaluation with a newer lm-eval."
        ) from None


# The required fields of a line and their types.
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
            raise _FieldError("filtered_resps")
    scores = {}
    for name in metrics:
        if type(name) is not str:
            raise _FieldError("metrics")
        part = row.get(name)
        # NaN stands for a missing verdict (see `scoring.score.score_judged`).
        if name in METRICS and not (name == "judge_score" and part != part):
            scores[name] = checked_part(name, part, file, number)
    return Sample(
        file, number, doc_id, doc, sys.intern(filter_name), _first(arguments, "arg_0"),
        generation if type(generation) is dict else {}, response, filtered, options, scores,
        # Other lines and logs have the same hashes.
        sys.intern(doc_hash), sys.intern(prompt_hash), sys.intern(target_hash),
    )  # fmt: skip


class _FieldError(Exception):
    """Raised for a field that is missing or has the wrong type. The message is the name of the field."""


def _first(row: Mapping[str, Any], field: str) -> str:
    """Return the first string of a field. `resps` contains a list of strings for each request.

    The prompt of a chat API is a list with one string, which contains the messages as JSON.
    """
    value = row.get(field)
    while type(value) is list and value:
        value = value[0]
    if type(value) is not str:
        raise _FieldError(field)
    return value


def _options(row: Mapping[str, Any]) -> tuple[tuple[float, bool], ...]:
    """Return each option's log-likelihood and whether the option is greedy. lm-eval logs both as text."""
    try:
        return tuple((float(reply[0][0]), str(reply[0][1]) == "True") for reply in row["resps"])
    except (ValueError, TypeError, LookupError):
        raise _FieldError("resps") from None


def _types(values: Mapping[str, Any]) -> dict[str, type]:
    return {name: type(value) for name, value in values.items()}


def check_document(sample: Sample, task: str) -> None:
    """Check that a sample's document has this package's format and matches lm-eval's hash.

    Raises:
        RunError: the format is wrong, or the hash does not match.
    """
    doc = sample.doc
    inputs, meta, answer_format = doc.get("inputs"), doc.get("meta"), doc.get("answer_format")
    known = benchmark_of_task(task)
    numbers = known_meta(known[0]) if known else ("id",)  # in a custom dataset, other fields may have any type
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
                f"{sample.location}: the document's field `{name}` does not have this package's format, so this is not "
                "a log of its task. Run the task as the package defines it."
            )
    if hashlib.sha256(_hashed_text(doc, "\n").encode("utf-8", "surrogatepass")).hexdigest() != sample.doc_hash:
        raise RunError(
            f"{sample.location}: the hash does not match the document, so the document has changed since the run."
        )


def _hashed_text(value: Any, line: str) -> str:
    """Return the text that lm-eval hashes for a document.

    The text equals that of `json.dumps` with an indent of 2. This function is five times as fast.

    Args:
        value: the document, or a value inside the document.
        line: a line feed followed by the indentation of the value.
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
    """Return a document's value for a metric, as a float or a tuple. Raise RunError for an invalid value."""
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
        f"{file}, line {line}: {quoted(part)} is not a valid value of the metric `{name}`. Rerun the evaluation."
    )


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _shown(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.6g}"
