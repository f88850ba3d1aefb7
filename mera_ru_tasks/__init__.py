"""Three Russian benchmarks of MERA Text 2.0 for EleutherAI's lm-evaluation-harness.

The subpackages, in the order in which a response passes through them:

    data/         define the benchmarks; read and check their rows
    harness/      provide lm-eval's tasks, filters, prompts and few-shot examples; patch lm-eval
    scoring/      extract an answer from a response and score it, without lm-eval
    logs/         find, read and rescore lm-eval's logs
    judge/        ask an LLM whether a response agrees with the reference
    compare/      compare runs, and write tables and the HTML report
    submission/   pack logs for the leaderboard; check archives
    cli/          define the `mera-ru` command line

The names in `__all__` are the public Python API. They are imported on first use, so that importing this package is fast
and needs neither lm-eval nor numpy.
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
    """Import a public name on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _HOME[name]
    return getattr(importlib.import_module(module), attribute)
