"""The errors that are for the user to mend, and how they are shown."""

from __future__ import annotations

import os
import sys
from types import TracebackType

from mera_ru_tasks.textutil import printable


class MeraRuError(Exception):
    """A user's mistake or a missing resource. The message says what, where and the way out; no traceback helps."""


class DataError(MeraRuError, ValueError):
    """The data cannot be used: missing, unreadable, or wrong in a row."""


class TaskError(MeraRuError, ValueError):
    """A task cannot be made: it is unknown, or its YAML file says what cannot be."""


class SubmissionError(MeraRuError, ValueError):
    """A submission cannot be read or written."""


class OutputError(MeraRuError, ValueError):
    """A file cannot be written where it is to be."""


class RunError(MeraRuError, ValueError):
    """The logs of a run cannot be used: not found, unreadable, or wrong in a line."""


class JudgeError(MeraRuError):
    """The judge cannot be used: its settings, its server, its cache or its prompt."""


def show_without_traceback() -> None:
    """Let `MeraRuError` end a program with its message alone, under a command line that does not know it (lm-eval's).

    Every other exception is shown as before; `LMEVAL_LOG_LEVEL=DEBUG` brings the traceback back.
    """
    previous = sys.excepthook
    if getattr(previous, "_mera_ru", False):
        return

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, MeraRuError) and os.environ.get("LMEVAL_LOG_LEVEL", "").upper() != "DEBUG":
            print(f"Error: {printable(error)}", file=sys.stderr)
        else:
            previous(kind, error, traceback)

    hook._mera_ru = True  # type: ignore[attr-defined]
    sys.excepthook = hook
