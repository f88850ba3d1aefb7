"""Writing the archive. The same logs give the same bytes: entries are sorted and carry a fixed time."""

from __future__ import annotations

import functools
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mera_ru_tasks.errors import SubmissionError
from mera_ru_tasks.logs.lmeval import TaskLog
from mera_ru_tasks.submission.collect import Answers
from mera_ru_tasks.textutil import SHORTEST_KEY

LOGS = "logs_public.zip"

_HIDDEN = "HIDDEN"
_SECRET_NAMES = frozenset(
    "token hf_token auth_token use_auth_token access_token bearer_token api_key apikey openai_api_key x-api-key "
    "password secret authorization".split()
)
_SECRET_ARGUMENT = re.compile(rf"(?:^|,)\s*(?:{'|'.join(_SECRET_NAMES)})=([^,]{{{SHORTEST_KEY},}})", re.IGNORECASE)
# The forms of the hub's and OpenAI's keys, and a password in a URL.
_SECRET_TEXT = re.compile(r"\b(?:hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,})|(?<=://)[^/@\s]+(?=@)")


def build(answers: Sequence[Answers]) -> bytes:
    """Build the archive of these tasks' answers with their logs."""
    entries = {f"{part.benchmark.title}.json": functools.partial(_answers_json, part) for part in answers}
    return _zip({**entries, LOGS: lambda: _zip(_logs(answers))})


def write(archive: bytes, file: Path) -> None:
    """Write the archive to a new file; raises FileExistsError for another, which someone may still need."""
    with file.open("xb") as stream:
        stream.write(archive)


def secrets_in(results: Mapping[str, Any]) -> set[str]:
    """Keys and passwords in a run's results, where lm-eval copies the model's arguments as they were given."""
    return set(_secrets(results))


def _secrets(value: Any, name: str = "") -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _secrets(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from _secrets(part, name)
    elif isinstance(value, str):
        if name.lower() in _SECRET_NAMES and len(value) >= SHORTEST_KEY:
            yield value
        if name == "model_args":
            yield from _SECRET_ARGUMENT.findall(value)
        yield from _SECRET_TEXT.findall(value)


def _answers_json(answers: Answers) -> bytes:
    rows = [
        {"outputs": sample.response, "meta": {"id": identity}} for identity, sample in sorted(answers.samples.items())
    ]
    return (json.dumps({"data": {"test": rows}}, ensure_ascii=False, indent=2) + "\n").encode()


def _logs(answers: Sequence[Answers]) -> dict[str, Callable[[], bytes]]:
    """The runs' logs under names made from their task and date, so that no file's own name reaches the archive."""
    entries: dict[str, Callable[[], bytes]] = {}
    owners: dict[str, Path] = {}
    for part in answers:
        log = part.log
        files = {f"samples_{log.task}_{log.run.date}.jsonl": log.file}
        if log.run.results_file is not None:
            files[f"results_{log.run.date}.json"] = log.run.results_file
        for name, file in files.items():
            if owners.setdefault(name, file) != file:
                raise SubmissionError(
                    f"{file} and {owners[name]} are of two runs that ended at the same moment, so their logs cannot "
                    "lie in one archive. Name the logs of one run."
                )
            entries[name] = functools.partial(_public, log, file)
    return entries


def _public(log: TaskLog, file: Path) -> bytes:
    content = file.read_bytes()
    for secret in sorted(secrets_in(log.run.results), key=len, reverse=True) if file == log.run.results_file else ():
        content = content.replace(json.dumps(secret, ensure_ascii=False)[1:-1].encode(), _HIDDEN.encode())
    return content


def _zip(entries: Mapping[str, Callable[[], bytes]]) -> bytes:
    """Pack entries by their names; each one's content is made when its turn comes, so that one at a time is held."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(entries):
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system = 3
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, entries[name](), zipfile.ZIP_DEFLATED, 6)
    return stream.getvalue()
