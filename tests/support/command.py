"""Call `mera-ru` as its entry point does, in this process or in a new one."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from mera_ru_tasks.cli import main


@dataclass(frozen=True)
class Outcome:
    """The result of a command: exit status, standard output and standard error."""

    status: int
    out: str
    err: str


class Command:
    """Calls `mera-ru` with arguments."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch
        # `mera-ru run` lets lm-eval configure its logger for the whole process, but later tests need the logger's
        # messages.
        logger = logging.getLogger("lm_eval")
        monkeypatch.setattr(logger, "propagate", logger.propagate)
        monkeypatch.setattr(logger, "handlers", list(logger.handlers))

    def __call__(self, *arguments: object) -> Outcome:
        self.monkeypatch.setattr(sys, "argv", ["mera-ru", *map(str, arguments)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ending:
            main()
        captured = self.capsys.readouterr()
        code = ending.value.code
        return Outcome(code if isinstance(code, int) else int(bool(code)), captured.out, captured.err)


def in_process(*arguments: object, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    """Call `mera-ru` in a new process, with additional environment variables."""
    start = "import sys; from mera_ru_tasks.cli import main; sys.argv[0] = 'mera-ru'; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *map(str, arguments)],
        cwd=cwd, env={**os.environ, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip
