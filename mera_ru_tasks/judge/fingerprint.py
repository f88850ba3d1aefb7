"""Identify a judge and a question: verdicts are comparable only if their judges are equal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from mera_ru_tasks.judge.config import Settings

# The key in a task's `metadata`, which lm-eval writes into its results, of the run's judge.
METADATA = "mera_ru_judge"

# The fields that identify a judge; its address may change (see `question_key`).
_FIELDS = ("model", "prompt_version", "extra", "skip_exact")


def judge_facts(settings: Settings) -> dict[str, Any]:
    """Return the description of a judge that is written beside its verdicts.

    It holds no secret: of the address only the server, and of the request fields only their names and a hash, which
    tells judges apart.
    """
    from mera_ru_tasks.judge.prompt import load_prompt

    fields, address = settings.extra_fields, urlsplit(settings.api_base)
    digest = hashlib.sha256(settings.extra.encode()).hexdigest()
    return {
        "model": settings.model,
        "api_base": f"{address.scheme}://{address.netloc}",
        "prompt_version": load_prompt(settings).version,
        "extra": f"{', '.join(sorted(fields))} ({digest[:12]})" if fields else "none",
        "skip_exact": settings.skip_exact,
    }


def identity(facts: Any) -> dict[str, Any] | None:
    """Return the identifying part of a written description; None if it is incomplete, so that the judge is unknown."""
    if not isinstance(facts, Mapping) or not all(facts.get(name) is not None for name in _FIELDS):
        return None
    return {name: facts[name] for name in _FIELDS}


def question_key(settings: Settings, prompt_version: str, rendered: str) -> str:
    """Return a hash of what a verdict depends on: judge, request fields, prompt version and rendered question."""
    parts = [settings.model, settings.extra, prompt_version, rendered]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
