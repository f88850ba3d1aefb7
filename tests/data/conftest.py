"""No test of loading asks the hub, unless it puts one in its place."""

from __future__ import annotations

import datasets
import pytest


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder of the test's own, and with one, nothing may ask the hub."""
    for name in ("MERA_RU_DATA", "MERA_RU_REVISION", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(datasets, "load_dataset", lambda *_, **__: pytest.fail("the hub was asked"))
