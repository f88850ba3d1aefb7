"""Check a submission archive from any tool as the leaderboard's scorer would."""

from __future__ import annotations

import contextlib
import io
import json
import lzma
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark
from mera_ru_tasks.data.custom import benchmark_of_config
from mera_ru_tasks.data.schema import row_id
from mera_ru_tasks.issues import Issue, RunError, SubmissionError
from mera_ru_tasks.logs.find import SAMPLES_NAME, as_mapping
from mera_ru_tasks.logs.reader import parse_samples
from mera_ru_tasks.secrets import secrets_in, tokens_in
from mera_ru_tasks.submission import rules
from mera_ru_tasks.submission.rules import LOGS, is_log_of, name_ids, task_error

# Far larger than any real submission, but small enough for any machine's memory.
_LARGEST = 1 << 30
_REPACK = "Pack it again with `mera-ru submit`."
_RESULTS = re.compile(r"(^|/)results[^/]*\.json$")
_FORM = '{"data": {"test": [{"outputs": "…", "meta": {"id": 1}}, …]}}'

Responses = Mapping[int, str]


@dataclass(frozen=True)
class Checked:
    """The contents and issues of an archive.

    Attributes:
        responses: the readable responses by file name and id.
        issues: errors, for which the scorer or this package would refuse the archive; warnings, on missing tasks and on
            logs; and notes on what was not checked.
    """

    responses: Mapping[str, Responses]
    issues: Sequence[Issue]


def check_archive(file: Path, data: Path | None = None, tasks: Sequence[str] = ()) -> Checked:
    """Check a submission archive.

    Args:
        file: the archive.
        data: a folder with the data; default as in `rules.expected_rows`.
        tasks: custom tasks that it must answer. By default it may hold any of the twelve tasks of MERA Text 2.0.

    Raises:
        SubmissionError: the file is not a zip archive.
        DataError: the data are missing or invalid.
    """
    archive = open_archive(file.read_bytes(), str(file))
    logs, found = read_entry(archive, LOGS, LOGS)
    issues = list(map(_as_warning, found))
    if tasks:
        benchmarks = [_custom(logs, task) or _unknown(task) for task in tasks]
        issues += [_unknown_task(task) for task in tasks if _custom(logs, task) is None]
    else:
        known = {benchmark.title: benchmark for benchmark in LEADERBOARD}
        titles = [title for title in rules.SIZES if f"{title}.json" in archive.namelist()]
        benchmarks = [known.get(title) or _unknown(title) for title in titles]
        issues += _check_set(titles)
    issues += check_names(archive, [f"{title}.json" for title in tasks or rules.SIZES])
    responses: dict[str, Responses] = {}
    unchecked = []
    for benchmark in benchmarks:
        name = f"{benchmark.title}.json"
        content, found = read_entry(archive, name, benchmark.title)
        issues += found
        if content is None:
            continue
        responses[name], found = _check_task(content, name, benchmark.title)
        issues += found
        expected = rules.expected_rows(benchmark, data) if benchmark.formats else rules.Expected(benchmark)
        issues += rules.check_ids(responses[name].keys(), expected, benchmark.title, name)
        if expected.rows is None:
            unchecked.append(expected)
    if logs is not None:
        issues += _check_logs(logs, responses, benchmarks)
    issues += _scan_all(archive)
    return Checked(responses, issues + ([rules.note_unchecked(unchecked)] if unchecked else []))


def _scan_all(archive: zipfile.ZipFile) -> Iterator[Issue]:
    for entry in archive.infolist():
        content = None if entry.is_dir() else read_entry(archive, entry.filename, entry.filename)[0]
        if content and entry.filename == LOGS:
            with contextlib.suppress(SubmissionError):
                yield from _scan_all(open_archive(content, LOGS))
        elif content:
            yield from scan(entry.filename, content)


def _unknown(title: str) -> Benchmark:
    """Return a placeholder for a task with only a known name."""
    return Benchmark(title, title, None, (title.lower(),), (), (), None, {})


def _unknown_task(task: str) -> Issue:
    message = f"it contains no results log that describes {task!r} as a custom task"
    return task_error("unknown-task", task, LOGS, message, _REPACK)


def _check_set(titles: Sequence[str]) -> Iterator[Issue]:
    """Check that an archive holds the twelve tasks of MERA Text 2.0, or at least one of them."""
    missing = ", ".join(title for title in rules.SIZES if title not in titles)
    if not titles:
        message = f"it contains no task files; their names are {missing}, each with `.json`"
        hint = "For an archive of custom tasks, name them with --task."
        yield Issue("no-tasks", "error", "archive", message, hint)
    elif missing:
        message = f"it contains {len(titles)} of the {len(rules.SIZES)} tasks of MERA Text 2.0; missing: {missing}"
        hint = (
            "MERA's tools call such an archive incomplete. `mera-ru submit RUN --into FILE` adds tasks to an archive."
        )
        yield Issue("missing-task", "warning", "archive", message, hint)


def _as_warning(issue: Issue) -> Issue:
    """Return an issue in the logs, which the scorer does not read, as a warning."""
    return replace(issue, severity="warning")


def _custom(logs: bytes | None, task: str) -> Benchmark | None:
    """Return a custom task's dataset, from the configuration in the archive's results logs."""
    try:
        archive = open_archive(logs or b"", LOGS)
    except SubmissionError:
        return None
    for name in archive.namelist():
        content = read_entry(archive, name, task)[0] if _RESULTS.search(name) else None
        try:
            configs = as_mapping(as_mapping(json.loads((content or b"{}").decode("utf-8-sig"))).get("configs"))
            if benchmark := benchmark_of_config(task, as_mapping(configs.get(task))):
                return benchmark
        except (ValueError, RecursionError):  # not JSON, or settings that describe no task
            continue
    return None


def open_archive(content: bytes, name: str) -> zipfile.ZipFile:
    """Open a zip archive; raise SubmissionError for any other file."""
    try:
        return zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, UnicodeDecodeError, RuntimeError) as error:
        # zipfile raises the last two for a broken name and for an unknown version of the format.
        raise SubmissionError(f"{name} is not a zip archive ({error}). {_REPACK}") from error


def check_names(archive: zipfile.ZipFile, files: Sequence[str]) -> Iterator[Issue]:
    """Check that entry names are unique, stay inside the archive, and are spelled as the scorer expects."""
    wanted = {*files, LOGS}
    names = Counter(entry.filename for entry in archive.infolist() if not entry.is_dir())
    for name, count in names.items():
        if count > 1:
            message = f"the archive contains it {count} times"
            yield task_error("duplicate-entry", "archive", repr(name), message, _REPACK)
        if _escapes(name):
            yield task_error("escaping-name", "archive", repr(name), "its path leaves the archive", _REPACK)
        base = name.replace("\\", "/").rpartition("/")[2]
        near = {known.lower(): known for known in wanted}.get(base.lower())
        if name not in wanted and near and near not in names:
            message = f"it must be called {near} and must not be in a folder"
            yield task_error("wrong-name", "archive", repr(name), message, _REPACK)


def scan(name: str, content: bytes) -> Iterator[Issue]:
    """Warn about secrets and folders of a user in a file of an archive, which becomes public; name no value."""
    text = content.decode("utf-8", "replace")
    # A task's file holds responses, in which settings such as `api_key` may be part of the answer.
    search = secrets_in if SAMPLES_NAME.fullmatch(_base(name)) or is_results_log(name) else tokens_in
    if number := len({secret for line in text.split("\n") for secret in search(line)}):
        message = f"it seems to contain {number} key{'s' if number > 1 else ''}, tokens or passwords"
        yield Issue("possible-secret", "warning", name, message, "Remove them before you publish the archive.")
    if folders := set(_USER_FOLDER.findall(text)):
        message = f"it names {len(folders)} folder{'s' if len(folders) > 1 else ''} of a user"
        yield Issue("user-folder", "warning", name, message, "Check that the archive may show this user's name.")


_USER_FOLDER = re.compile(r"(?<![\w.])(?:/home/|/Users/|[A-Z]:\\{1,4}Users\\{1,4})[\w.-]+")


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or ":" in parts[0]


def read_entry(archive: zipfile.ZipFile, name: str, task: str) -> tuple[bytes | None, list[Issue]]:
    """Read an entry; on failure, return None and add an issue."""
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
        parsed = json.loads(content.decode("utf-8"))  # the scorer refuses a byte-order mark
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
    """Warn about incomplete logs, and about logs whose responses differ from the archive's."""
    try:
        logs = open_archive(content, LOGS)
    except SubmissionError as error:
        yield Issue("damaged-entry", "warning", LOGS, str(error).removesuffix("."))
        return
    names = [entry.filename for entry in logs.infolist() if not entry.is_dir()]
    for name in names:
        if _escapes(name):
            yield task_error("escaping-name", LOGS, repr(name), "its path leaves the archive", _REPACK)
    samples = [name for name in names if re.search(r"(^|/)samples_[^/]*\.jsonl?$", name)]
    results = [name for name in names if _RESULTS.search(name)]
    for kind, found in (("samples_TASK_DATE.jsonl", samples), ("results_DATE.json", results)):
        if not found:
            yield Issue("missing-logs", "warning", LOGS, f"it holds no log {kind}", _REPACK)
    for benchmark in benchmarks:
        given = responses.get(f"{benchmark.title}.json")
        own = [name for name in samples if is_log_of(task_of_samples(name), benchmark)]
        if given is not None and own:
            yield from map(_as_warning, _compare(logs, own, given, benchmark))


def is_results_log(name: str) -> bool:
    """Return True for the name of a results log."""
    return _RESULTS.search(name) is not None


def task_of_samples(name: str) -> str:
    """Return the task in the name of a sample log; empty for any other file."""
    match = SAMPLES_NAME.fullmatch(_base(name))
    return match["task"] if match else ""


def _compare(logs: zipfile.ZipFile, names: Sequence[str], given: Responses, benchmark: Benchmark) -> Iterator[Issue]:
    """Compare responses with a task's sample logs, except for outer white space, which MERA's packer removes.

    Neither the filter nor the log matters: each filter repeats the same responses, and any log may hold a response.
    """
    logged: dict[int, set[str]] = defaultdict(set)
    location = f"{LOGS}: {', '.join(names)}"
    for name in names:
        lines, issues = read_entry(logs, name, benchmark.title)
        yield from issues
        try:
            for sample in parse_samples(io.BytesIO(lines or b""), f"{LOGS}: {name}"):
                if (identity := row_id(sample.doc)) is not None:
                    logged[identity].add(sample.response.strip())
        except RunError as error:
            yield task_error("damaged-log", benchmark.title, location, str(error).removesuffix("."), _REPACK)
            return
    other = [identity for identity, response in given.items() if response.strip() not in logged.get(identity, ())]
    if other:
        message = f"other responses than in the log: {name_ids(other)}"
        yield task_error("other-responses", benchmark.title, location, message, _REPACK)
    if left := logged.keys() - given.keys():
        message = f"in the log, but not answered: {name_ids(left)}"
        yield task_error("unanswered-ids", benchmark.title, location, message, _REPACK)
