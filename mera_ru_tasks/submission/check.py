"""Check any submission archive as the leaderboard's scorer would, whoever made it."""

from __future__ import annotations

import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.data.benchmarks import LEADERBOARD, PHRASE, Benchmark
from mera_ru_tasks.data.custom import benchmark_of_config
from mera_ru_tasks.data.schema import row_id
from mera_ru_tasks.errors import RunError, SubmissionError
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.logs.lmeval import SAMPLES_NAME, as_mapping, parse_samples
from mera_ru_tasks.scoring.metrics import STRICT
from mera_ru_tasks.submission.rules import LOGS, check_ids, expected_rows, name_ids, note_unchecked, task_error

# Far more than any real submission, far less than would fill a machine's memory.
_LARGEST = 1 << 30
_REPACK = "Pack it again with `mera-ru submit`."
_RESULTS = re.compile(r"(^|/)results[^/]*\.json$")
_FORM = '{"data": {"test": [{"outputs": "…", "meta": {"id": 1}}, …]}}'

Responses = Mapping[int, str]


@dataclass(frozen=True)
class Checked:
    """What an archive contains and what is wrong with it.

    Attributes:
        responses: the readable responses by file name and id.
        issues: errors, and notes on what was not checked.
    """

    responses: Mapping[str, Responses]
    issues: Sequence[Issue]


def check_archive(file: Path, data: Path | None = None, tasks: Sequence[str] = ()) -> Checked:
    """Check a submission archive.

    Args:
        file: the archive.
        data: a folder with the data; default as in `rules.expected_rows`.
        tasks: custom tasks that it must answer, instead of the leaderboard's.

    Raises:
        SubmissionError: the file is not a zip archive.
        DataError: the data are missing or invalid.
    """
    archive = _open(file.read_bytes(), str(file))
    logs, issues = _read(archive, LOGS, LOGS)
    benchmarks: list[Benchmark] = []
    for task in tasks:
        benchmark = _custom(logs, task)
        if benchmark is None:
            message = f"no results log in it says that {task!r} is a custom task"
            issues.append(task_error("unknown-task", task, LOGS, message, _REPACK))
            benchmark = Benchmark(task, task, None, (task.lower(),), (), (), None, {None: PHRASE})
        benchmarks.append(benchmark)
    benchmarks = benchmarks or list(LEADERBOARD)
    issues += _check_names(archive, benchmarks)
    responses: dict[str, Responses] = {}
    unchecked = []
    for benchmark in benchmarks:
        name = f"{benchmark.title}.json"
        content, found = _read(archive, name, benchmark.title)
        issues += found
        if content is None:
            continue
        responses[name], found = _check_task(content, name, benchmark.title)
        issues += found
        expected = expected_rows(benchmark, data)
        issues += check_ids(responses[name].keys(), expected, benchmark.title, name)
        if expected.rows is None:
            unchecked.append(expected)
    if logs is not None:
        issues += _check_logs(logs, responses, benchmarks)
    return Checked(responses, issues + ([note_unchecked(unchecked)] if unchecked else []))


def _custom(logs: bytes | None, task: str) -> Benchmark | None:
    """Return a custom task's dataset, from the configuration in the archive's results logs."""
    try:
        archive = _open(logs or b"", LOGS)
    except SubmissionError:
        return None
    for name in archive.namelist():
        content = _read(archive, name, task)[0] if _RESULTS.search(name) else None
        try:
            configs = as_mapping(as_mapping(json.loads((content or b"{}").decode("utf-8"))).get("configs"))
            if benchmark := benchmark_of_config(task, as_mapping(configs.get(task))):
                return benchmark
        except (ValueError, RecursionError):  # not JSON, or settings that describe no task
            continue
    return None


def _open(content: bytes, name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, UnicodeDecodeError, RuntimeError) as error:
        # zipfile raises the last two for a broken name and for an unknown version of the format.
        raise SubmissionError(f"{name} is not a zip archive ({error}). {_REPACK}") from error


def _check_names(archive: zipfile.ZipFile, benchmarks: Sequence[Benchmark]) -> Iterator[Issue]:
    wanted = {*(f"{benchmark.title}.json" for benchmark in benchmarks), LOGS}
    names = Counter(entry.filename for entry in archive.infolist() if not entry.is_dir())
    for name, count in names.items():
        if count > 1:
            message = f"the archive holds it {count} times"
            yield task_error("duplicate-entry", "archive", repr(name), message, _REPACK)
        if _escapes(name):
            yield task_error("escaping-name", "archive", repr(name), "its path leaves the archive", _REPACK)
        base = name.replace("\\", "/").rpartition("/")[2]
        near = {known.lower(): known for known in wanted}.get(base.lower())
        if name not in wanted and near and near not in names:
            message = f"it must be called {near} and must not be in a folder"
            yield task_error("wrong-name", "archive", repr(name), message, _REPACK)


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or ":" in parts[0]


def _read(archive: zipfile.ZipFile, name: str, task: str) -> tuple[bytes | None, list[Issue]]:
    """Read an entry; None with an issue if that fails."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        return None, [task_error("missing-entry", task, name, "it is not in the archive", _REPACK)]
    if entry.file_size > _LARGEST:
        message = f"it unpacks to {entry.file_size >> 20} MiB, more than any real submission"
        return None, [task_error("oversized-entry", task, name, message, _REPACK)]
    try:
        with archive.open(entry) as stream:
            return stream.read(_LARGEST), []
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, UnicodeError) as error:
        # zipfile raises RuntimeError for an encrypted entry and for an unknown compression.
        message = f"it cannot be unpacked ({error})"
        return None, [task_error("damaged-entry", task, name, message, _REPACK)]


def _check_task(content: bytes, name: str, task: str) -> tuple[Responses, list[Issue]]:
    """Check one task's file; return its responses by id."""
    try:
        parsed = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        return {}, [task_error("invalid-json", task, name, f"it is not valid JSON in UTF-8 ({error})", _REPACK)]
    data = parsed.get("data") if isinstance(parsed, Mapping) else None
    rows = data.get("test") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        return {}, [task_error("wrong-form", task, name, f"it does not have the form {_FORM}", _REPACK)]
    responses: dict[int, str] = {}
    issues: list[Issue] = []
    for number, row in enumerate(rows, start=1):
        identity = row_id(row)
        code = message = ""
        if identity is None:
            code, message = "missing-id", f"entry {number} has no integer `meta.id`"
        elif identity in responses:
            code, message = "duplicate-id", f"id {identity} occurs twice, the second time in entry {number}"
        elif "outputs" not in row:
            code, message = "missing-outputs", f"id {identity} (entry {number}) has no `outputs`"
        elif not isinstance(row["outputs"], str):
            shown = json.dumps(row["outputs"])[:60]
            code, message = "wrong-type", f"the `outputs` of id {identity} (entry {number}) is not a string: {shown}"
        if code:
            issues.append(task_error(code, task, name, message, _REPACK))
        if identity is not None and identity not in responses:
            given = row.get("outputs")
            responses[identity] = given if isinstance(given, str) else ""
    return responses, issues


def _check_logs(content: bytes, responses: Mapping[str, Responses], benchmarks: Sequence[Benchmark]) -> Iterator[Issue]:
    """Check that the logs are complete and, if they belong to these tasks, that they hold the same responses."""
    try:
        logs = _open(content, LOGS)
    except SubmissionError as error:
        yield Issue("damaged-entry", "error", LOGS, str(error))
        return
    names = [entry.filename for entry in logs.infolist() if not entry.is_dir()]
    for name in names:
        if _escapes(name):
            yield task_error("escaping-name", LOGS, repr(name), "its path leaves the archive", _REPACK)
    samples = [name for name in names if re.search(r"(^|/)samples_[^/]*\.jsonl?$", name)]
    results = [name for name in names if _RESULTS.search(name)]
    for kind, found in (("samples_TASK_DATE.jsonl", samples), ("results_DATE.json", results)):
        if not found:
            yield Issue("missing-logs", "error", LOGS, f"it holds no log {kind}", _REPACK)
    for benchmark in benchmarks:
        given = responses.get(f"{benchmark.title}.json")
        for name in (name for name in samples if _is_log_of(name, benchmark)):
            lines, issues = _read(logs, name, benchmark.title)
            yield from issues
            if lines is not None and given is not None:
                yield from _compare(lines, name, given, benchmark)


def _is_log_of(name: str, benchmark: Benchmark) -> bool:
    match = SAMPLES_NAME.fullmatch(name.rpartition("/")[2])
    return match is not None and match["task"] == benchmark.name


def _compare(lines: bytes, name: str, given: Responses, benchmark: Benchmark) -> Iterator[Issue]:
    place = f"{LOGS}: {name}"
    try:
        logged = {row_id(s.doc): s.response for s in parse_samples(io.BytesIO(lines), place) if s.filter == STRICT}
    except RunError as error:
        yield task_error("damaged-log", benchmark.title, place, str(error).removesuffix("."), _REPACK)
        return
    other = [identity for identity, response in given.items() if logged.get(identity) != response]
    if other:
        message = f"other responses than in the log: {name_ids(other)}"
        yield task_error("other-responses", benchmark.title, place, message, _REPACK)
    if left := [identity for identity in logged if identity is not None and identity not in given]:
        message = f"in the log, but not answered: {name_ids(left)}"
        yield task_error("missing-ids", benchmark.title, place, message, _REPACK)
