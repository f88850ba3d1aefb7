"""`mera-ru judge`."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator

import typer

from mera_ru_tasks.cli.arguments import References, Runs, note_unused_data, read_usable_responses
from mera_ru_tasks.textutil import printable, say


def judge(run: Runs, data: References = None) -> None:
    """Judge logged responses with an LLM, without running the model again.

    The judge is any server that speaks OpenAI's chat protocol. Name it in LM_EVAL_JUDGE_API_BASE and
    LM_EVAL_JUDGE_MODEL, and its key, if it needs one, in LM_EVAL_JUDGE_API_KEY or OPENAI_API_KEY. The run must have
    kept its responses (--log_samples). Verdicts are saved as they arrive, so a second call asks only for missing ones.
    Writes judged_JUDGE_TASK_DATE.jsonl and judged_results_JUDGE_DATE.json next to the logs.

    \b
    Example:
      export LM_EVAL_JUDGE_API_BASE=http://localhost:8000/v1 LM_EVAL_JUDGE_MODEL=JUDGE
      mera-ru judge results
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.judge import config
    from mera_ru_tasks.judge.config import judge_facts
    from mera_ru_tasks.logs import rescore, sidecar

    settings = config.require()
    logs = rescore.our_logs(run, say)
    sidecar.require_writable(logs)
    note_unused_data(logs, data)
    responses, complete = read_usable_responses(logs)
    with _shown_log():
        rescored = [rescore.judge_log(one, settings, data) for one in responses]
    facts = {"judge": judge_facts(settings)}
    files = sidecar.write(rescored, "judged", facts, say, by=settings.model)
    say(sidecar.table(rescored))
    say("\n".join(f"Wrote {file}" for file in files))
    if not complete or any(row.extra["source"] == "failed" for item in rescored for row in item.rows):
        raise typer.Exit(1)


@contextlib.contextmanager
def _shown_log() -> Iterator[None]:
    """Show the final lines and warnings, which lm-eval's log shows during a run."""
    logger = logging.getLogger("lm_eval.mera_ru_tasks")
    handler, level = _StandardError(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _StandardError(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        print(printable(record.getMessage()), file=sys.stderr)
