"""Fixtures and settings for all tests."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mera_ru_tasks.textutil import warn_once
from tests.support.command import Command
from tests.support.environments import build_wheel, copy_lean_lm_eval

# Tests must not depend on chance or on the speed of a machine, so the examples are always the same. To search for new
# ones, use `--hypothesis-profile=search`.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=5000, print_blob=True)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Undo the changes of lm-eval's command to its logger, and forget the warnings. Later tests would capture none."""
    warn_once.cache_clear()
    logger = logging.getLogger("lm_eval")
    propagate, handlers, level = logger.propagate, list(logger.handlers), logger.level
    yield
    logger.propagate, logger.handlers[:] = propagate, handlers
    logger.setLevel(level)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the project's wheel."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def lean_lm_eval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of lm-eval that contains a single task."""
    return copy_lean_lm_eval(tmp_path_factory.mktemp("lean"))


@pytest.fixture
def mera_ru(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Return a function that calls `mera-ru` in the test's own folder. The terminal is too wide for line breaks."""
    monkeypatch.delenv("MERA_RU_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Command(capsys, monkeypatch)
