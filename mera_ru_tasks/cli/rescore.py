"""`mera-ru score` and `mera-ru judge`: new scores for logged responses."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.issues import DataError, RunError, errors
from mera_ru_tasks.textutil import printable, say

if TYPE_CHECKING:
    from mera_ru_tasks.logs.find import TaskLog
    from mera_ru_tasks.logs.rescore import Responses

RUN_HELP = "lm-eval's output folder, a model's folder in it, or log files. The newest run of each task is used."

Runs = Annotated[list[Path], typer.Argument(metavar="RUN", show_default=False, help=RUN_HELP)]
References = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Take the reference answers from this data folder, joined by id; default: those in the logs.",
    ),
]


def score(run: Runs, data: References = None) -> None:
    """Score logged responses again, without the model and without a judge.

    Use this if reference answers arrived after the run, or for logs from an earlier release. The run must have kept its
    responses (--log_samples). Writes scored_TASK_DATE.jsonl and scored_results_DATE.json next to the logs.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru --apply_chat_template \\
          --output_path results
      mera-ru score results --data DIR
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.logs import rescore, sidecar

    logs = rescore.our_logs(run, say)
    sidecar.require_writable(logs)
    _note_unused_data(logs, data)
    responses, complete = _read_usable_responses(logs)
    rescored = [rescore.score_log(one, data) for one in responses]
    closed = {item.log.task: sum(not row.scores for row in item.rows) // 2 for item in rescored}
    if not any(row.scores for item in rescored for row in item.rows):
        raise DataError(
            "None of the documents has a reference answer, so there is nothing to score. Name data with "
            "answers: --data DIR."
        )
    files = sidecar.write(rescored, "scored", {}, say)
    say(sidecar.table(rescored))
    for task, number in closed.items():
        if number:
            say(
                f"{task}: {number} documents have no reference answer, so they get no score. Name data with answers: "
                "--data DIR."
            )
    say("\n".join(f"Wrote {file}" for file in files))
    if not complete:
        raise typer.Exit(1)


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
    _note_unused_data(logs, data)
    responses, complete = _read_usable_responses(logs)
    with _shown_log():
        rescored = [rescore.judge_log(one, settings, data) for one in responses]
    facts = {"judge": judge_facts(settings)}
    files = sidecar.write(rescored, "judged", facts, say, by=settings.model)
    say(sidecar.table(rescored))
    say("\n".join(f"Wrote {file}" for file in files))
    if not complete or any(row.extra["source"] == "failed" for item in rescored for row in item.rows):
        raise typer.Exit(1)


def _note_unused_data(logs: Sequence[TaskLog], data: Path | None) -> None:
    """Print the logs for which `--data` is not used: those of the shipped sample tasks."""
    from mera_ru_tasks.logs.rescore import has_shipped_data

    shipped = sorted({log.task for log in logs if has_shipped_data(log)})
    if data is not None and shipped:
        say(f"Note: --data is not used for {', '.join(shipped)}, whose data are part of the package.")


def _read_usable_responses(logs: Sequence[TaskLog]) -> tuple[list[Responses], bool]:
    """Read the logs' responses, and print issues in the logs to standard error.

    Returns:
        The responses of the logs whose numbers may be shown, and True if no log was left out.

    Raises:
        RunError: no log is usable.
    """
    from mera_ru_tasks.logs.rescore import read_responses

    found = [read_responses(log) for log in logs]
    for issue in (issue for one in found for issue in one.issues):
        print(printable(f"{issue.severity.capitalize()}: {issue}"), file=sys.stderr)
    usable = [one for one in found if not errors(one.issues)]
    if not usable:
        raise RunError("No log can be scored; see the messages above.")
    return usable, len(usable) == len(found)


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
