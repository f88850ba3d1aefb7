"""Check a submission archive as the leaderboard's scorer does. Any tool may have created the archive."""

from __future__ import annotations

import contextlib
import io
import lzma
import re
import zipfile
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark
from mera_ru_tasks.data.custom import benchmark_of_config
from mera_ru_tasks.data.schema import row_id
from mera_ru_tasks.issues import Issue, RunError, SubmissionError
from mera_ru_tasks.logs.find import SAMPLES_NAME, as_mapping
from mera_ru_tasks.logs.reader import parse_samples
from mera_ru_tasks.paths import LARGEST_FILE, bounded_lines, open_regular
from mera_ru_tasks.secrets import secrets_in, tokens_in
from mera_ru_tasks.submission import rules
from mera_ru_tasks.submission.rules import LOGS, is_log_of, name_ids, task_error
from mera_ru_tasks.textutil import quoted, read_json

# Limits far above any real submission: the unpacked size of all entries, the unpacked size of an entry that is parsed
# as a whole, the size of the list of entries, and the compression ratio of an entry.
_LARGEST_TOTAL = 1 << 30
_LARGEST_LIST = 4 << 20
_LARGEST_PACKED = 16 << 20
_HIGHEST_RATIO = 200
_MAX_ROWS = 100_000
_REPACK = "Pack it again with `mera-ru submit`."
_RESULTS = re.compile(r"(^|/)results[^/]*\.json$")
_FORM = '{"data": {"test": [{"outputs": "…", "meta": {"id": 1}}, …]}}'

Responses = Mapping[int, str]
# The exceptions that zipfile raises if it cannot unpack an entry. RuntimeError: encryption or an unknown compression.
_DAMAGED = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, RuntimeError, UnicodeError)


@dataclass(frozen=True)
class Checked:
    """The contents and issues of an archive.

    Attributes:
        responses: the readable responses, by file name and id.
        issues: the issues found. For an error, the scorer or this package refuses the archive. Warnings concern missing
            tasks and logs. Notes list what was not checked.
    """

    responses: Mapping[str, Responses]
    issues: Sequence[Issue]


def check_archive(file: Path, data: Path | None = None, tasks: Sequence[str] = ()) -> Checked:
    """Check a submission archive.

    Args:
        file: the archive.
        data: the data folder; see `rules.expected_rows` for the default.
        tasks: the custom tasks that the archive must contain. By default, the archive may contain any of the twelve
            tasks of MERA Text 2.0.

    Raises:
        SubmissionError: the file is not a zip archive.
        DataError: the data are missing or invalid.
    """
    with open_regular(file) as stream:
        return _check(open_archive(stream, str(file)), data, tasks)


def _check(archive: zipfile.ZipFile, data: Path | None, tasks: Sequence[str]) -> Checked:
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
        if entry.filename == LOGS:
            content, _ = read_entry(archive, LOGS, LOGS)
            with contextlib.suppress(SubmissionError):
                yield from _scan_all(open_archive(content or b"", LOGS))
        elif not entry.is_dir():
            with contextlib.suppress(RunError, OSError):  # other checks report this
                yield from scan(entry.filename, _lines(archive, entry.filename))


def _unknown(title: str) -> Benchmark:
    """Return a placeholder for a task that is known only by its name."""
    return Benchmark(title, title, None, (title.lower(),), (), (), None, {})


def _unknown_task(task: str) -> Issue:
    message = f"no results file in the archive describes {task!r} as a custom task"
    return task_error("unknown-task", task, LOGS, message, _REPACK)


def _check_set(titles: Sequence[str]) -> Iterator[Issue]:
    """Warn if tasks of MERA Text 2.0 are missing from an archive; yield an error if all of them are missing."""
    missing = ", ".join(title for title in rules.SIZES if title not in titles)
    if not titles:
        message = f"it contains no task files. Their names are {missing}, each followed by `.json`"
        hint = "For an archive of custom tasks, add --task for each of them."
        yield Issue("no-tasks", "error", "archive", message, hint)
    elif missing:
        message = f"it contains {len(titles)} of the {len(rules.SIZES)} tasks of MERA Text 2.0; missing: {missing}"
        hint = "MERA's tools report such an archive as incomplete. To add tasks, run `mera-ru submit RUN --into FILE`."
        yield Issue("missing-task", "warning", "archive", message, hint)


def _as_warning(issue: Issue) -> Issue:
    """Convert an issue into a warning. Issues in logs are warnings because the scorer does not read logs."""
    return replace(issue, severity="warning")


def _custom(logs: bytes | None, task: str) -> Benchmark | None:
    """Return a custom task's dataset from the configuration in the archive's results files, or None."""
    try:
        archive = open_archive(logs or b"", LOGS)
    except SubmissionError:
        return None
    for name in archive.namelist():
        content = read_entry(archive, name, task)[0] if is_results_log(name) else None
        try:
            configs = as_mapping(as_mapping(read_json(content or b"{}")).get("configs"))
            if benchmark := benchmark_of_config(task, as_mapping(configs.get(task))):
                return benchmark
        except ValueError:  # not JSON, or not the settings of a custom task
            continue
    return None


def open_archive(content: bytes | BinaryIO, name: str) -> zipfile.ZipFile:
    """Open a zip archive. Raise SubmissionError if the file is too large or is not a zip archive."""
    stream = io.BytesIO(content) if isinstance(content, bytes) else content
    try:
        stream.seek(-min(stream.seek(0, io.SEEK_END), 1 << 17), io.SEEK_END)
        # zipfile reads the list of entries into memory, so the size at the end of the archive is checked first.
        _, mark, end = stream.read().rpartition(b"PK\x05\x06")
        if mark and int.from_bytes(end[8:12], "little") > _LARGEST_LIST:
            raise SubmissionError(f"{name} has more entries than any real submission. {_REPACK}")
        archive = zipfile.ZipFile(stream)
        total = sum(entry.file_size for entry in archive.infolist())
        if total > _LARGEST_TOTAL:
            raise SubmissionError(f"{name} unpacks to {total >> 20} MiB, more than any real submission. {_REPACK}")
        return archive
    except (zipfile.BadZipFile, UnicodeDecodeError, RuntimeError) as error:
        # zipfile raises UnicodeDecodeError for a broken name and RuntimeError for an unknown version of the format.
        raise SubmissionError(f"{name} is not a zip archive ({error}). {_REPACK}") from error


def check_names(archive: zipfile.ZipFile, files: Sequence[str]) -> Iterator[Issue]:
    """Check that entry names are unique, that they lie inside the archive, and that the scorer recognizes them."""
    wanted = {*files, LOGS}
    names = Counter(entry.filename for entry in archive.infolist() if not entry.is_dir())
    for name, count in names.items():
        if count > 1:
            message = f"the archive contains {count} entries with this name"
            yield task_error("duplicate-entry", "archive", repr(name), message, _REPACK)
        if _escapes(name):
            yield task_error("escaping-name", "archive", repr(name), "its path points outside the archive", _REPACK)
        base = name.replace("\\", "/").rpartition("/")[2]
        near = {known.lower(): known for known in wanted}.get(base.lower())
        if name not in wanted and near and near not in names:
            message = f"its name must be {near}, without a folder"
            yield task_error("wrong-name", "archive", repr(name), message, _REPACK)


def scan(name: str, lines: Iterable[bytes]) -> Iterator[Issue]:
    """Warn about secrets and user folders in an archived file, which becomes public. Warnings do not quote values."""
    # In a task's file, settings such as `api_key` may be part of a response, so only tokens are searched for.
    search = secrets_in if task_of_samples(name) or is_results_log(name) else tokens_in
    secrets: set[str] = set()
    folders: set[str] = set()
    for line in lines:
        text = line.decode("utf-8", "replace")
        secrets.update(search(text))
        folders.update(_USER_FOLDER.findall(text))
    if secrets:
        message = f"it seems to contain keys, tokens or passwords (number of different values: {len(secrets)})"
        yield Issue("possible-secret", "warning", name, message, "Remove them before you publish the archive.")
    if folders:
        message = f"it contains paths of user folders (number of different folders: {len(folders)})"
        yield Issue("user-folder", "warning", name, message, "Check that the user's name may become public.")


_USER_FOLDER = re.compile(r"(?<![\w.])(?:/home/|/Users/|[A-Z]:\\{1,4}Users\\{1,4})[\w.-]+")


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _escapes(name: str) -> bool:
    parts = name.replace("\\", "/").split("/")
    return ".." in parts or parts[0] == "" or ":" in parts[0]


def read_entry(archive: zipfile.ZipFile, name: str, task: str) -> tuple[bytes | None, list[Issue]]:
    """Return the content of an entry, or None and an issue if the entry cannot be read."""
    try:
        entry = archive.getinfo(name)
    except KeyError:
        return None, [task_error("missing-entry", task, name, "the archive does not contain this file", _REPACK)]
    if issue := _oversized(entry, task, entry.file_size > LARGEST_FILE):
        return None, [issue]
    try:
        with archive.open(entry) as stream:
            return stream.read(LARGEST_FILE), []
    except _DAMAGED as error:
        message = f"it cannot be unpacked ({error})"
        return None, [task_error("damaged-entry", task, name, message, _REPACK)]


def _oversized(entry: zipfile.ZipInfo, task: str, is_large: bool = False) -> Issue | None:
    """Return an issue for an entry that is larger than in any real submission, or None."""
    bomb = entry.file_size > _LARGEST_PACKED and entry.file_size > _HIGHEST_RATIO * entry.compress_size
    if not (is_large or bomb):
        return None
    message = f"it unpacks to {entry.file_size >> 20} MiB, more than any real submission"
    return task_error("oversized-entry", task, entry.filename, message, _REPACK)


def _lines(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """Yield the lines of an entry without unpacking the whole entry. Raise RunError if unpacking fails."""
    entry = archive.getinfo(name)
    if issue := _oversized(entry, name):
        raise RunError(str(issue))
    try:
        with archive.open(entry) as stream:
            yield from bounded_lines(cast(BinaryIO, io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)))
    except _DAMAGED as error:
        raise RunError(f"it cannot be unpacked ({error})") from error


def _check_task(content: bytes, name: str, task: str) -> tuple[Responses, list[Issue]]:
    """Check a task's file. Return its responses by id, and the issues found."""
    try:
        parsed = read_json(content.decode("utf-8"))  # not utf-8-sig, because the scorer rejects a byte order mark
    except ValueError as error:
        return {}, [task_error("invalid-json", task, name, f"not valid JSON in UTF-8 ({error})", _REPACK)]
    data = parsed.get("data") if isinstance(parsed, Mapping) else None
    rows = data.get("test") if isinstance(data, Mapping) else None
    if not isinstance(rows, list):
        return {}, [task_error("wrong-form", task, name, f"its content does not have the format {_FORM}", _REPACK)]
    if len(rows) > _MAX_ROWS:
        return {}, [
            task_error("wrong-form", task, name, f"it contains {len(rows):,} entries, more than any task has", _REPACK)
        ]
    responses: dict[int, str] = {}
    issues: list[Issue] = []
    for number, row in enumerate(rows, start=1):
        identity = row_id(row)
        code = message = ""
        if identity is None:
            code, message = "missing-id", f"entry {number} has no integer `meta.id`"
        elif identity in responses:
            code, message = "duplicate-id", f"entry {number} repeats id {identity}"
        elif "outputs" not in row:
            code, message = "missing-outputs", f"id {identity} (entry {number}) has no `outputs`"
        elif not isinstance(row["outputs"], str):
            shown = quoted(row["outputs"])
            code, message = "wrong-type", f"the `outputs` of id {identity} (entry {number}) is not a string: {shown}"
        if code:
            issues.append(task_error(code, task, name, message, _REPACK))
        if identity is not None and identity not in responses:
            given = row.get("outputs")
            responses[identity] = given if isinstance(given, str) else ""
    return responses, issues


def _check_logs(content: bytes, responses: Mapping[str, Responses], benchmarks: Sequence[Benchmark]) -> Iterator[Issue]:
    """Warn about missing logs, and about logs whose responses differ from those of the archive."""
    try:
        logs = open_archive(content, LOGS)
    except SubmissionError as error:
        yield Issue("damaged-entry", "warning", LOGS, str(error).removesuffix("."))
        return
    names = [entry.filename for entry in logs.infolist() if not entry.is_dir()]
    for name in names:
        if _escapes(name):
            yield task_error("escaping-name", LOGS, repr(name), "its path points outside the archive", _REPACK)
    samples = [name for name in names if task_of_samples(name)]
    results = [name for name in names if is_results_log(name)]
    for kind, found in (("samples_TASK_DATE.jsonl", samples), ("results_DATE.json", results)):
        if not found:
            yield Issue("missing-logs", "warning", LOGS, f"it contains no log with the name {kind}", _REPACK)
    for benchmark in benchmarks:
        given = responses.get(f"{benchmark.title}.json")
        own = [name for name in samples if is_log_of(task_of_samples(name), benchmark)]
        if given is not None and own:
            yield from map(_as_warning, _compare(logs, own, given, benchmark))


def is_results_log(name: str) -> bool:
    """Return True if the name is that of a results file."""
    return _RESULTS.search(name) is not None


def task_of_samples(name: str) -> str:
    """Return the task from the name of a sample log, or an empty string for any other file."""
    match = SAMPLES_NAME.fullmatch(_base(name))
    return match["task"] if match else ""


def _compare(logs: zipfile.ZipFile, names: Sequence[str], given: Responses, benchmark: Benchmark) -> Iterator[Issue]:
    """Compare responses with those in a task's sample logs.

    Leading and trailing white space is ignored, because MERA's packer removes it. The lines of every filter and every
    log are used: each filter repeats the same responses, and any log may contain a response.
    """
    logged: dict[int, set[str]] = defaultdict(set)
    location = f"{LOGS}: {', '.join(names)}"
    for name in names:
        try:
            for sample in parse_samples(_lines(logs, name), f"{LOGS}: {name}"):
                if (identity := row_id(sample.doc)) is not None:
                    logged[identity].add(sample.response.strip())
        except (RunError, OSError) as error:
            yield task_error("damaged-log", benchmark.title, location, str(error).removesuffix("."), _REPACK)
            return
    other = [identity for identity, response in given.items() if response.strip() not in logged.get(identity, ())]
    if other:
        message = f"the responses to {name_ids(other)} differ from those in the log"
        yield task_error("other-responses", benchmark.title, location, message, _REPACK)
    if left := logged.keys() - given.keys():
        message = f"the log contains {name_ids(left)}, but the task's file does not"
        yield task_error("unanswered-ids", benchmark.title, location, message, _REPACK)
