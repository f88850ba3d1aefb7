"""The number of examples for property tests."""

from __future__ import annotations

from hypothesis import settings


def at_least(examples: int) -> settings:
    """Return settings for a property with rare failures: this number of examples, or the profile's number if it is
    larger.
    """
    return settings(max_examples=max(examples, settings().max_examples))
