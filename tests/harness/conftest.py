"""Tests of runs do not depend on the caller's settings."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MERA_RU_DATA", "MERA_RU_REVISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
