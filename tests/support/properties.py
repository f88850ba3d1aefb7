"""The number of examples for property tests."""

from __future__ import annotations

from hypothesis import settings


def at_least(examples: int) -> settings:
    """Return settings for a property with rare failures: at least this number of examples."""
    return settings(max_examples=max(examples, settings().max_examples))
