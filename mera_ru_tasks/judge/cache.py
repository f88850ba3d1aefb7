"""Store verdicts in an SQLite file for later runs. Several processes can use the file at the same time.

Each verdict is written as it arrives, so a killed run loses only the requests in flight. The first verdict on a
question is kept, so that two processes that ask the same question at the same time use the same verdict.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import logging
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.judge.client import Verdict
from mera_ru_tasks.judge.config import CACHE, Settings

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# SQLite's `application_id`, which identifies this package's files and the version of their tables.
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


class VerdictCache:
    """An open cache file."""

    def __init__(self, connection: sqlite3.Connection, settings: Settings, prompt_version: str) -> None:
        self._connection = connection
        self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        self._model = settings.name
        self._prompt_version = prompt_version

    def get(self, key: str) -> Verdict | None:
        """Return the verdict on a question, or None if it is missing or damaged."""
        row = self._connection.execute(
            "SELECT score, reason, raw, prompt_tokens, completion_tokens, checksum FROM verdicts WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            return None
        reply = Verdict(*row[:-1])
        return reply if row[-1] == _checksum(key, reply) else None

    def put(self, key: str, reply: Verdict) -> Verdict:
        """Store a verdict and return the stored one, which may be an earlier verdict from another process."""
        row = (key, self._model, self._prompt_version, *vars(reply).values(), _checksum(key, reply))
        if self._connection.execute(f"INSERT OR IGNORE {_ROW}", row).rowcount == 0:
            earlier = self.get(key)
            if earlier is not None:
                return earlier
            self._connection.execute(f"INSERT OR REPLACE {_ROW}", row)
        return reply


def _checksum(key: str, reply: Verdict) -> str:
    """Return a hash of a row's content, because SQLite detects a broken page, but not a changed value."""
    return hashlib.sha256(json.dumps([key, *vars(reply).values()]).encode()).hexdigest()


@contextlib.contextmanager
def open_cache(settings: Settings, prompt_version: str) -> Iterator[VerdictCache]:
    """Open the cache file that the settings name, and create it if it does not exist.

    Raises:
        JudgeError: the file is damaged, belongs to another program or cannot be written.
    """
    path = settings.cache
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Another thread may send questions (see `client.run_async`), but two threads never do at the same time.
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.Error) as error:
        raise JudgeError(f"The judge cache {path} cannot be opened ({error}). Set {CACHE} to another file.") from error
    try:
        _prepare(connection, path)
        yield VerdictCache(connection, settings, prompt_version)
    except sqlite3.Error as error:
        raise JudgeError(
            f"The judge cache {path} cannot be used ({error}); it may be damaged. "
            f"Set {CACHE} to another file, or delete this one. Its verdicts are then requested again."
        ) from error
    finally:
        connection.close()


@contextlib.contextmanager
def exclusively(settings: Settings, log: Path) -> Iterator[None]:
    """Wait until no other process on this machine judges a log with this judge, so that no question is asked twice.

    The lock is a byte of a file next to the cache; the system releases it when a process ends, even if it is killed.
    """
    with contextlib.ExitStack() as stack:
        try:
            import fcntl

            settings.cache.parent.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(settings.cache.with_name(f"{settings.cache.name}.lock").open("ab"))
        except (ImportError, OSError):  # Windows, or a folder that open_cache reports
            yield
            return
        parts = [str(log.resolve()), settings.model, settings.extra, str(settings.prompt)]
        offset = int(hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:7], 16)
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                logger.warning(
                    "Another process is judging %s with %s. Waiting for its verdicts.",
                    log.name,
                    settings.name,
                )
                fcntl.lockf(file, fcntl.LOCK_EX, 1, offset)
        yield


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and application != _APPLICATION:
        raise JudgeError(
            f"{path} is not a cache of mera-ru-tasks, so it is left unchanged. Set {CACHE} to another file."
        )
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state)
    if not tables:
        _switch_to_wal(connection)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(_TABLE)
    # With this setting, a killed process loses nothing. A power cut may lose the last verdicts.
    connection.execute("PRAGMA synchronous = NORMAL")


def _switch_to_wal(connection: sqlite3.Connection) -> None:
    """Switch to write-ahead logging, which lets readers and a writer work at the same time.

    Retry for a while, because SQLite does not wait for another process that switches the same new file.
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
