"""The exceptions for mistakes that a user can fix."""

from __future__ import annotations


class MeraRuError(Exception):
    """A user's mistake or a missing resource. Its message says what is wrong, where, and how to fix it."""


class DataError(MeraRuError, ValueError):
    """Raised if data are missing, unreadable or invalid."""


class TaskError(MeraRuError, ValueError):
    """Raised for an unknown task or an invalid task YAML."""


class SubmissionError(MeraRuError, ValueError):
    """Raised if a submission cannot be read or written."""


class OutputError(MeraRuError, ValueError):
    """Raised if a file cannot be written."""


class RunError(MeraRuError, ValueError):
    """Raised if the logs of a run are missing, unreadable or invalid."""


class JudgeError(MeraRuError):
    """Raised if the judge cannot be used because of its settings, server, cache or prompt."""
