"""Define the commands `mera-ru score` and `mera-ru judge`, which rescore logged responses."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.issues import DataError, RunError, errors
from mera_ru_tasks.textutil import echo, plural, printable

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
        help="A data folder with reference answers, which are matched by id. By default, those in the logs are used.",
    ),
]


def score(run: Runs, data: References = None) -> None:
    """Rescore logged responses, without running the model or a judge.

    Use this command if you received the reference answers after the run, or if the logs come from an earlier release.
    The evaluation must have been run with --log_samples. The command writes scored_TASK_DATE.jsonl and
    scored_results_DATE.json next to the logs.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru --apply_chat_template \\
          --output_path results
      mera-ru score results --data DIR
    """  # noqa: D301 (\b tells click not to rewrap the block)
    from mera_ru_tasks.logs import rescore, sidecar

    logs = rescore.our_logs(run, echo)
    sidecar.require_writable(logs)
    _note_unused_data(logs, data)
    responses, complete = _read_usable_responses(logs)
    rescored = [rescore.score_log(one, data) for one in responses]
    closed = {item.log.task: sum(not row.scores for row in item.rows) // 2 for item in rescored}
    if not any(row.scores for item in rescored for row in item.rows):
        raise DataError(
            "None of the documents has a reference answer, so there is nothing to score. Pass a data folder with "
            "answers: --data DIR."
        )
    files = sidecar.write(rescored, "scored", {}, echo)
    echo(sidecar.table(rescored))
    for task, number in closed.items():
        if number:
            echo(
                f"{task}: {number} {plural(number, 'document has', 'documents have')} no reference answer and thus no "
                "score. To score all documents, pass a data folder with answers: --data DIR."
            )
    echo("\n".join(f"Wrote {file}" for file in files))
    if not complete:
        raise typer.Exit(1)


def judge(run: Runs, data: References = None) -> None:
    """Judge logged responses with an LLM, without running the model again.

    The judge can be a model on any server with an OpenAI-compatible chat API. Set the server's address in
    LM_EVAL_JUDGE_API_BASE and the model's name in LM_EVAL_JUDGE_MODEL. If the server needs a key, set it in
    LM_EVAL_JUDGE_API_KEY or OPENAI_API_KEY. The evaluation must have been run with --log_samples. Verdicts are saved
    as they arrive, so running the command again requests only the missing ones. The command writes
    judged_JUDGE_TASK_DATE.jsonl and judged_results_JUDGE_DATE.json next to the logs.

    \b
    Example:
      export LM_EVAL_JUDGE_API_BASE=http://localhost:8000/v1 LM_EVAL_JUDGE_MODEL=JUDGE
      mera-ru judge results
    """  # noqa: D301 (\b tells click not to rewrap the block)
    from mera_ru_tasks.judge import config
    from mera_ru_tasks.judge.config import judge_description
    from mera_ru_tasks.logs import rescore, sidecar

    settings = config.require()
    logs = rescore.our_logs(run, echo)
    sidecar.require_writable(logs)
    _note_unused_data(logs, data)
    responses, complete = _read_usable_responses(logs)
    with _shown_log():
        rescored = [rescore.judge_log(one, settings, data) for one in responses]
    files = sidecar.write(rescored, "judged", {"judge": judge_description(settings)}, echo, by=settings.name)
    echo(sidecar.table(rescored))
    echo("\n".join(f"Wrote {file}" for file in files))
    if not complete or any(row.extra["source"] == "failed" for item in rescored for row in item.rows):
        raise typer.Exit(1)


def _note_unused_data(logs: Sequence[TaskLog], data: Path | None) -> None:
    """Print a note with the names of the tasks that ignore `--data`: the shipped sample tasks."""
    from mera_ru_tasks.logs.rescore import has_shipped_data

    shipped = sorted({log.task for log in logs if has_shipped_data(log)})
    if data is not None and shipped:
        echo(f"Note: --data is not used for {', '.join(shipped)}, because their data are part of the package.")


def _read_usable_responses(logs: Sequence[TaskLog]) -> tuple[list[Responses], bool]:
    """Read the responses in logs, and print the issues of the logs to standard error.

    Returns:
        The responses in the logs without errors, and True if no log has an error.

    Raises:
        RunError: every log has an error.
    """
    from mera_ru_tasks.logs.rescore import read_responses

    found = [read_responses(log) for log in logs]
    for issue in (issue for one in found for issue in one.issues):
        print(printable(f"{issue.severity.capitalize()}: {issue}"), file=sys.stderr)
    usable = [one for one in found if not errors(one.issues)]
    if not usable:
        raise RunError("None of the logs can be used. See the messages above.")
    return usable, len(usable) == len(found)


@contextlib.contextmanager
def _shown_log() -> Iterator[None]:
    """Print the package's log messages to standard error; during a run, lm-eval prints them."""
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
