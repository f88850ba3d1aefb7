"""What several test modules share."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.support.command import Command
from tests.support.environments import build_wheel, copy_lean_lm_eval

# A change must not pass or fail by chance, nor by how fast a machine is: the same examples each time. New ones are
# searched for with `--hypothesis-profile=search`.
settings.register_profile("same", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("search", settings.get_profile("same"), derandomize=False, max_examples=5000, print_blob=True)
settings.load_profile("same")


@pytest.fixture(autouse=True)
def restored_logging() -> Iterator[None]:
    """Undo what lm-eval's command does to its logger: later tests would capture no warnings."""
    logger = logging.getLogger("lm_eval")
    propagate, handlers, level = logger.propagate, list(logger.handlers), logger.level
    yield
    logger.propagate, logger.handlers[:] = propagate, handlers
    logger.setLevel(level)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def lean_lm_eval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds lm-eval with one task of its own."""
    return copy_lean_lm_eval(tmp_path_factory.mktemp("lean"))


@pytest.fixture
def mera_ru(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command `mera-ru`, in a folder of the test's own and a terminal wide enough for no line to break."""
    monkeypatch.delenv("MERA_RU_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Command(capsys, monkeypatch)
