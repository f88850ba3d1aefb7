"""The prompts of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.scripted import run


def prompts(root: Path, task: str, **arguments: Any) -> list[str]:
    """Return the prompts that a run of one task sends, in the order of the documents."""
    samples = run(None, [task], data=root, **arguments)["samples"][task]
    return [sample["arguments"][0][0] for sample in samples if sample["filter"] == "strict-match"]
