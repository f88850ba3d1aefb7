"""How many examples the property tests try."""

from __future__ import annotations

from hypothesis import settings


def at_least(examples: int) -> settings:
    """Settings for a property whose faults are rare: this many examples, or the profile's number if that is more."""
    return settings(max_examples=max(examples, settings().max_examples))
