"""Who a judge is, as it is written beside its verdicts: two verdicts are of one measure only where this is equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.judge.config import Settings

# Where a task's `metadata`, which lm-eval writes into its results, hold the judge of the run.
METADATA = "mera_ru_judge"

# The fields that make a judge what it is; its address may change (see `cache.question_key`).
_FIELDS = ("model", "prompt_version", "extra", "skip_exact")


def judge_facts(settings: Settings) -> dict[str, Any]:
    """What is to be known of a judge; never its key."""
    from mera_ru_tasks.judge.prompt import load_prompt

    return {
        "model": settings.model,
        "api_base": settings.api_base,
        "prompt_version": load_prompt(settings).version,
        "extra": json.loads(settings.redact(settings.extra)),
        "skip_exact": settings.skip_exact,
    }


def identity(facts: Any) -> dict[str, Any] | None:
    """What of written facts makes the judge; None where they are not whole, so that the judge is not known."""
    if not isinstance(facts, Mapping) or not all(facts.get(name) is not None for name in _FIELDS):
        return None
    return {name: facts[name] for name in _FIELDS}
