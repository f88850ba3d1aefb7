"""What the tests of judging share."""

import pytest


@pytest.fixture
def quick_backoff(monkeypatch):
    """The SDK's waits between retries, a hundredth as long."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.005)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.08)
    monkeypatch.setattr("mera_ru_tasks.judge.client.LONGEST_WAIT", 0.08)
