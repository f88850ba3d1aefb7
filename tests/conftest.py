"""What several test modules share."""

from __future__ import annotations

from pathlib import Path

import pytest
from environments import build_wheel, copy_lean_lm_eval


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's wheel."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def lean_lm_eval(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds lm-eval with one task of its own."""
    return copy_lean_lm_eval(tmp_path_factory.mktemp("lean"))
