"""Tests of loading never use the network. They may replace the hub."""

from __future__ import annotations

import datasets
import pytest


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail a test that uses the hub, and unset the settings that select data."""
    for name in ("MERA_RU_DATA", "MERA_RU_REVISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("the hub was asked"))
