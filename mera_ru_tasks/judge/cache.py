"""Verdicts that outlive a run, in an SQLite file that several processes may share.

A verdict is written the moment it arrives, so a run that is killed loses only the questions then open. The first
verdict on a question stays: two processes that ask the same thing at the same time end with the same answer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from mera_ru_tasks.errors import JudgeError
from mera_ru_tasks.judge.client import Reply
from mera_ru_tasks.judge.config import CACHE, Settings

# Marks the file as ours (SQLite's `application_id`), with the version of its tables.
_APPLICATION = 0x6D727531
_TABLE = """
CREATE TABLE IF NOT EXISTS verdicts (
    key TEXT PRIMARY KEY, model TEXT NOT NULL, prompt_version TEXT NOT NULL, score INTEGER NOT NULL,
    reason TEXT NOT NULL, raw TEXT NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
    checksum TEXT NOT NULL, asked_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP
)
"""
_ROW = (
    "INTO verdicts (key, model, prompt_version, score, reason, raw, prompt_tokens, completion_tokens, checksum) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_BUSY_SECONDS = 60.0


def question_key(settings: Settings, prompt_version: str, rendered: str) -> str:
    """What a verdict depends on: the judge's name and request fields, the prompt's version, the rendered question."""
    parts = [settings.model, settings.extra, prompt_version, rendered]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class VerdictCache:
    """An open cache file."""

    def __init__(self, connection: sqlite3.Connection, settings: Settings, prompt_version: str) -> None:
        self._connection = connection
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._model = settings.model
        self._prompt_version = prompt_version

    def get(self, key: str) -> Reply | None:
        """The verdict on a question; None where there is none, or where it no longer is as it was written."""
        row = self._connection.execute(
            "SELECT score, reason, raw, prompt_tokens, completion_tokens, checksum FROM verdicts WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        reply = Reply(*row[:-1])
        return reply if row[-1] == _checksum(key, reply) else None

    def put(self, key: str, reply: Reply) -> Reply:
        """Keep a verdict; returns the one that counts, which is another where a process has been faster."""
        row = (key, self._model, self._prompt_version, *vars(reply).values(), _checksum(key, reply))
        if self._connection.execute(f"INSERT OR IGNORE {_ROW}", row).rowcount == 0:
            earlier = self.get(key)
            if earlier is not None:
                return earlier
            self._connection.execute(f"INSERT OR REPLACE {_ROW}", row)
        return reply


def _checksum(key: str, reply: Reply) -> str:
    """A hash of a row's content: SQLite finds a broken page, but not a broken value."""
    return hashlib.sha256(json.dumps([key, *vars(reply).values()]).encode()).hexdigest()


@contextlib.contextmanager
def open_cache(settings: Settings, prompt_version: str) -> Iterator[VerdictCache]:
    """Open the settings' cache file, or make it.

    Raises:
        JudgeError: the file is damaged, is another program's, or cannot be written.
    """
    path = settings.cache
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Questions may be asked in a thread of their own (see `client.run_async`), but never in two at a time.
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise JudgeError(
            f"The judge's cache {path} cannot be opened ({error}). Name another file in {CACHE}."
        ) from error
    try:
        _prepare(connection, path)
        yield VerdictCache(connection, settings, prompt_version)
    except sqlite3.Error as error:
        raise JudgeError(
            f"The judge's cache {path} cannot be used ({error}); it may be damaged. "
            f"Delete it, and its questions are asked again, or name another file in {CACHE}."
        ) from error
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION:
        raise JudgeError(f"{path} is no cache of this program's, so it is left alone. Name another file in {CACHE}.")
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state)
    if not tables:
        _switch_to_wal(connection)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(_TABLE)
    # Survives a killed process; a power cut may cost the last verdicts, which are asked again.
    connection.execute("PRAGMA synchronous = NORMAL")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, in which readers and a writer do not wait for each other.

    SQLite does not wait here for another process that switches the same new file.
    """
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
