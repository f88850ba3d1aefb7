"""Three Russian benchmarks of MERA Text 2.0 for EleutherAI's lm-evaluation-harness.

A response travels through the packages in this order:

    data/         rows from a folder or the hub, checked and described; the benchmarks' definitions
    harness/      lm-eval's tasks, filters, prompts and few-shot examples; the patches of lm-eval
    scoring/      a response becomes an extracted answer, and an answer becomes scores (no lm-eval needed)
    logs/         lm-eval's logs: found, read and scored again
    judge/        an LLM compares a response with the reference
    compare/      runs compared: scores, differences, tables and the HTML report
    submission/   logs packed for the leaderboard; archives checked
    cli/          the command `mera-ru`

The names below are the public Python API. They load on first use, so importing this package is cheap and needs neither
lm-eval nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.harness import patches

if TYPE_CHECKING:
    from mera_ru_tasks.compare.compare import compare_runs
    from mera_ru_tasks.data.load import load_benchmark
    from mera_ru_tasks.harness.task import CustomTask
    from mera_ru_tasks.scoring.score import Scores, score_response

__version__ = "0.1.0"

__all__ = ["CustomTask", "Scores", "compare_runs", "load_benchmark", "score_response"]

_HOME = {
    "CustomTask": ("mera_ru_tasks.harness.task", "CustomTask"),
    "Scores": ("mera_ru_tasks.scoring.score", "Scores"),
    "compare_runs": ("mera_ru_tasks.compare.compare", "compare_runs"),
    "load_benchmark": ("mera_ru_tasks.data.load", "load_benchmark"),
    "score_response": ("mera_ru_tasks.scoring.score", "score_response"),
}

patches.register_tasks()


def __getattr__(name: str) -> Any:
    """Load a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(importlib.import_module(module), attribute)
