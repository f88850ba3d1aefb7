"""Call `mera-ru` in forks of one process, and kill it at a given write. Read and write lines of JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

# Python's audit events before each change of a file. `open` counts only for writing.
_CHANGES = {"os.rename", "os.link", "os.remove", "os.mkdir", "open"}


class Forks:
    """A process that has loaded the package. Use it as a context manager."""

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, sys.path)), "OPENBLAS_NUM_THREADS": "1",
                 "HF_HUB_OFFLINE": "1", **(environment or {})},
        )  # fmt: skip

    def __enter__(self) -> Forks:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()

    def call(self, arguments: list[str], *, watched: Path, allowed: int | None = None) -> tuple[int, int, str]:
        """Call a command.

        Args:
            arguments: the command's arguments.
            watched: the folder in which changes are counted.
            allowed: the number of changes after which the next one kills the process; None to never kill it.

        Returns:
            The exit status, the number of changes, and the output.
        """
        assert self._process.stdin and self._process.stdout
        print(json.dumps([arguments, str(watched), allowed]), file=self._process.stdin, flush=True)
        status, changes, output = json.loads(self._process.stdout.readline())
        return status, changes, output


def _run(arguments: list[str], watched: str, allowed: int | None, counter: int) -> None:
    def watch(event: str, values: tuple[Any, ...]) -> None:
        nonlocal allowed
        if event not in _CHANGES or not str(values[0]).startswith(watched):
            return
        if event == "open" and not (isinstance(values[2], int) and values[2] & (os.O_WRONLY | os.O_RDWR)):
            return
        if allowed is not None:
            if allowed == 0:
                os.kill(os.getpid(), 9)
            allowed -= 1
        os.write(counter, b".")

    from mera_ru_tasks.cli import main

    flush = os.fsync

    def fsync(descriptor: int) -> None:
        watch("os.mkdir", (watched,))  # another point at which a process can die
        flush(descriptor)

    os.fsync = fsync
    sys.addaudithook(watch)
    sys.argv = ["mera-ru", *arguments]
    main()


def _serve() -> None:
    import scipy.stats  # noqa: F401 (loaded once, before the forks)

    import mera_ru_tasks.cli
    import mera_ru_tasks.compare.compare
    import mera_ru_tasks.submission.pack  # noqa: F401

    for line in sys.stdin:
        arguments, watched, allowed = json.loads(line)
        (read, write), (log, output) = os.pipe(), os.pipe()
        process = os.fork()
        if process == 0:
            os.dup2(output, 1)
            os.dup2(output, 2)
            # The old objects remember the earlier files.
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            code = 0
            try:
                _run(arguments, watched, allowed, write)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(bool(end.code))
            except BaseException:
                import traceback

                traceback.print_exc()
                code = 99
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        os.close(write)
        os.close(output)
        with os.fdopen(log, "rb") as stream:
            text = stream.read().decode("utf-8", "replace")
        with os.fdopen(read, "rb") as stream:
            changes = len(stream.read())
        _, status = os.waitpid(process, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), changes, text]), flush=True)


if __name__ == "__main__":
    _serve()
