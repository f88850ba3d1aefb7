"""What is said where a name is unknown: the near ones, else all."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def suggest(name: str, known: Iterable[str]) -> str:
    """Say which of the known names may be meant, as a sentence: the nearest, or all where none is near."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"There are: {', '.join(names)}."
