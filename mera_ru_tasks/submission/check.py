"""Checking any submission archive as the scorer would, whoever made it."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from mera_ru_tasks.data.benchmarks import LEADERBOARD, PHRASE, Benchmark
from mera_ru_tasks.data.custom import of_config
from mera_ru_tasks.data.schema import row_id
from mera_ru_tasks.errors import RunError, SubmissionError
from mera_ru_tasks.logs.lmeval import SAMPLES_NAME, as_mapping, parse_samples
from mera_ru_tasks.scoring.metrics import STRICT
from mera_ru_tasks.submission.expected import Expected, check_ids, expected_rows
from mera_ru_tasks.submission.pack import LOGS
from mera_ru_tasks.submission.problems import Problem, name_ids

# Far above any honest submission, far below what would fill a machine's memory.
_LARGEST = 1 << 30
_REPACK = "Pack it again with `mera-ru submit`."
_RESULTS = re.compile(r"(^|/)results[^/]*\.json$")
_FORM = '{"data": {"test": [{"outputs": "…", "meta": {"id": 1}}, …]}}'


def verify(
    file: Path, data: Path | None = None, tasks: Sequence[str] = ()
) -> tuple[dict[str, dict[int, str]], list[Problem], list[Expected]]:
    """Check a submission archive.

    Args:
        file: the archive.
        data: a folder with the data; default as in `expected.expected_rows`.
        tasks: tasks on users' own datasets that it must answer, in place of the leaderboard's.

    Returns:
        The responses by task file and id, as far as they could be read, everything that is wrong, and what no data
        were at hand for, so that ids were not looked up.

    Raises:
        SubmissionError: the file is no zip archive.
        DataError: the data are missing or wrong.
    """
    archive = _open(file.read_bytes(), str(file))
    problems: list[Problem] = []
    logs = _read(archive, LOGS, LOGS, problems)
    benchmarks = [_own(logs, task, problems) for task in tasks] or LEADERBOARD
    problems += _check_names(archive, benchmarks)
    answers: dict[str, dict[int, str]] = {}
    unchecked: list[Expected] = []
    for benchmark in benchmarks:
        name = f"{benchmark.title}.json"
        content = _read(archive, name, benchmark.title, problems)
        if content is None:
            continue
        answers[name] = _check_task(content, name, benchmark.title, problems)
        expected = expected_rows(benchmark, data)
        problems += check_ids(answers[name].keys(), expected, benchmark.title, name)
        if expected.rows is None:
            unchecked.append(expected)
    if logs is not None:
        problems += _check_logs(logs, answers, benchmarks)
    return answers, problems, unchecked


def _own(logs: bytes | None, task: str, problems: list[Problem]) -> Benchmark:
    """A task's own dataset, by the configuration that a results log in the archive holds."""
    with contextlib.suppress(SubmissionError):
        archive = _open(logs or b"", LOGS)
        for name in archive.namelist():
            content = _read(archive, name, task, []) if _RESULTS.search(name) else None
            if content and (benchmark := _configured(content, task)):
                return benchmark
    what = f"no results log in it says that {task!r} is a task on a user's own dataset"
    problems.append(Problem(task, LOGS, what, _REPACK))
    return Benchmark(task, task, None, (task.lower(),), (), (), None, {None: PHRASE})


def _configured(results: bytes, task: str) -> Benchmark | None:
    try:
        content = as_mapping(json.loads(results.decode("utf-8")))
        return of_config(task, as_mapping(as_mapping(content.get("configs")).get(task)))
    except (ValueError, RecursionError):  # no JSON, or settings that make no task
        return None


def _open(content: bytes, name: str) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, UnicodeDecodeError, RuntimeError) as error:
        # The last two are zipfile's words for a broken name and for a newer form of archive.
        raise SubmissionError(f"{name} is no zip archive ({error}). {_REPACK}") from error


def _check_names(archive: zipfile.ZipFile, benchmarks: Sequence[Benchmark]) -> Iterator[Problem]:
    wanted = {*(f"{benchmark.title}.json" for benchmark in benchmarks), LOGS}
    names = Counter(entry.filename for entry in archive.infolist() if not entry.is_dir())
    for name, count in names.items():
        if count > 1:
            yield Problem("archive", repr(name), f"it stands {count} times in the archive", _REPACK)
        if _escapes(name):
            yield Problem("archive", repr(name), "its name leads out of the archive", _REPACK)
        base = name.replace("\\", "/").rpartition("/")[2]
        near = {known.lower(): known for known in wanted}.get(base.lower())
        if name not in wanted and near and near not in names:
            yield Problem("archive", repr(name), f"it must be called {near} and lie in no folder", _REPACK)


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or ":" in parts[0]


def _read(archive: zipfile.ZipFile, name: str, task: str, problems: list[Problem]) -> bytes | None:
    try:
        entry = archive.getinfo(name)
    except KeyError:
        problems.append(Problem(task, name, "it is not in the archive", _REPACK, hole=True))
        return None
    if entry.file_size > _LARGEST:
        problems.append(Problem(task, name, f"it unpacks to {entry.file_size >> 20} MiB, no honest size", _REPACK))
        return None
    try:
        with archive.open(entry) as stream:
            return stream.read(_LARGEST)
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, UnicodeError) as error:
        # RuntimeError is zipfile's word for an encrypted entry and for an unknown compression.
        problems.append(Problem(task, name, f"it cannot be unpacked ({error})", _REPACK))
        return None


def _check_task(content: bytes, name: str, task: str, problems: list[Problem]) -> dict[int, str]:
    """Check one task's file; returns the responses by id."""

    def problem(what: str, remedy: str = _REPACK) -> None:
        problems.append(Problem(task, name, what, remedy))

    try:
        parsed = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        problem(f"it is not valid JSON in UTF-8 ({error})")
        return {}
    data = parsed.get("data") if isinstance(parsed, Mapping) else None
    rows = data.get("test") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        problem(f"it has not the form {_FORM}")
        return {}
    answers: dict[int, str] = {}
    for number, row in enumerate(rows, start=1):
        identity = row_id(row)
        if identity is None:
            problem(f"entry {number} has no integer `meta.id`")
        elif identity in answers:
            problem(f"id {identity} stands twice, the second time in entry {number}")
        elif "outputs" not in row:
            problem(f"id {identity} (entry {number}) has no `outputs`")
        elif not isinstance(row["outputs"], str):
            problem(f"the `outputs` of id {identity} (entry {number}) is no string: {json.dumps(row['outputs'])[:60]}")
        if identity is not None and identity not in answers:
            given = row.get("outputs")
            answers[identity] = given if isinstance(given, str) else ""
    return answers


def _check_logs(
    content: bytes, answers: Mapping[str, Mapping[int, str]], benchmarks: Sequence[Benchmark]
) -> Iterator[Problem]:
    """Check that the logs are whole and, where they are of our tasks, that they hold the same responses."""
    try:
        logs = _open(content, LOGS)
    except SubmissionError as error:
        yield Problem(LOGS, LOGS, str(error), _REPACK)
        return
    names = [entry.filename for entry in logs.infolist() if not entry.is_dir()]
    for name in names:
        if _escapes(name):
            yield Problem(LOGS, repr(name), "its name leads out of the archive", _REPACK)
    samples = [name for name in names if re.search(r"(^|/)samples_[^/]*\.jsonl?$", name)]
    results = [name for name in names if _RESULTS.search(name)]
    for kind, found in (("samples_TASK_DATE.jsonl", samples), ("results_DATE.json", results)):
        if not found:
            yield Problem(LOGS, LOGS, f"it holds no log {kind}", _REPACK)
    unpacked: list[Problem] = []
    for benchmark in benchmarks:
        own = [name for name in samples if _is_log_of(name, benchmark)]
        given = answers.get(f"{benchmark.title}.json")
        for name in own:
            lines = _read(logs, name, benchmark.title, unpacked)
            if lines is not None and given is not None:
                unpacked += _compare(lines, name, given, benchmark)
    yield from unpacked


def _is_log_of(name: str, benchmark: Benchmark) -> bool:
    match = SAMPLES_NAME.fullmatch(name.rpartition("/")[2])
    return match is not None and match["task"] == benchmark.name


def _compare(lines: bytes, name: str, given: Mapping[int, str], benchmark: Benchmark) -> Iterator[Problem]:
    place = f"{LOGS}: {name}"
    try:
        logged = {row_id(s.doc): s.response for s in parse_samples(io.BytesIO(lines), place) if s.filter == STRICT}
    except RunError as error:
        yield Problem(benchmark.title, place, str(error), _REPACK)
        return
    other = [identity for identity, response in given.items() if logged.get(identity) != response]
    if other:
        yield Problem(benchmark.title, place, f"other responses than in the log: {name_ids(other)}", _REPACK)
    if left := [identity for identity in logged if identity is not None and identity not in given]:
        yield Problem(benchmark.title, place, f"in the log, but not answered: {name_ids(left)}", _REPACK, hole=True)
