"""Fixtures for the tests of judging."""

import pytest


@pytest.fixture
def quick_backoff(monkeypatch):
    """Reduce the SDK's waits between retries to a hundredth."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.005)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.08)
    monkeypatch.setattr("mera_ru_tasks.judge.client.LONGEST_WAIT", 0.08)
