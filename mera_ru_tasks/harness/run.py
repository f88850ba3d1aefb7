"""Run lm-eval's command line in this process with an index of only our tasks (`mera-ru run`).

At startup lm-eval reads the YAML files of all its 14,000 tasks, which takes longer than everything else before the
first request. A run here gives the same scores as `lm_eval`. It differs in three ways: samples are kept if there
is an output folder, a failure to write the results ends with an error, and Ctrl-C reports what was kept.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mera_ru_tasks.harness import patches
from mera_ru_tasks.issues import OutputError, TaskError
from mera_ru_tasks.paths import read_task_file, task_names
from mera_ru_tasks.textutil import suggest

DIFFERENCE = (
    "mera-ru run takes the same arguments as `lm_eval run` and does the same, but\n"
    "- starts sooner: it knows only the tasks of mera-ru-tasks and of --include_path, not lm-eval's own;\n"
    "- keeps the samples whenever --output_path is given; --no-log-samples turns this off.\n"
    "The help of lm-eval:"
)


def run(arguments: Sequence[str], *, keep_samples: bool = True) -> None:
    """Run `lm_eval run` with these arguments.

    Args:
        arguments: those of `lm_eval run`.
        keep_samples: True to keep the samples if there is an `--output_path`, even without `--log_samples`.

    Raises:
        TaskError: a task is neither ours nor in `--include_path`, or a check before the run failed.
        OutputError: lm-eval could not write the results.
        SystemExit: lm-eval ended by itself, as after `--help`; status 130 after Ctrl-C.
    """
    patches.leave_out_other_tasks()
    patches.install_run_check(keep_samples=keep_samples)
    try:
        with _noticing_lost_results():
            patches.run_lm_eval(["run", *arguments])
    except KeyboardInterrupt:
        print(_interrupted(arguments), file=sys.stderr)
        raise SystemExit(130) from None
    except ValueError as error:
        if not str(error).startswith(_NOT_FOUND):
            raise
        raise TaskError(_not_found(str(error).removeprefix(_NOT_FOUND).split(", "), arguments)) from error


def _interrupted(arguments: Sequence[str]) -> str:
    cached = [*_values(arguments, "--use_cache"), *_values(arguments, "-c")]
    if cached:
        return f"\nInterrupted. The responses so far are in {cached[-1]}_rank0.db; the same command continues there."
    return (
        "\nInterrupted, and the responses so far are lost. With `--use_cache FILE` lm-eval saves each response as it "
        "comes, and the same command continues after an interruption."
    )


@contextlib.contextmanager
def _noticing_lost_results() -> Iterator[None]:
    """Raise OutputError at the end if lm-eval could not write its results; lm-eval itself only logs a warning."""
    failures: list[str] = []

    class Notice(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            message = record.getMessage()
            if message.startswith("Could not save"):
                failures.append(message)

    logger, handler = logging.getLogger("lm_eval.loggers.evaluation_tracker"), Notice(logging.WARNING)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    if failures:
        raise OutputError(
            f"lm-eval could not write all results ({failures[0]}); only the table above is left. Check the "
            "space and the permissions of --output_path."
        )


_NOT_FOUND = "Tasks not found: "


def _not_found(tasks: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the message about tasks that lm-eval cannot find, with hints based on its arguments."""
    folders = [Path(folder) for folder in _values(arguments, "--include_path")]
    known = {*task_names(), *(name for folder in folders for name in _tasks_in(folder))}
    text = f"{_NOT_FOUND}{', '.join(tasks)}. {suggest(tasks[0], known)} "
    for folder in folders:
        if not folder.is_dir():
            text += f"The folder {folder} of --include_path does not exist. "
    return f"{text}`mera-ru run` knows only these and those in --include_path; for lm-eval's own tasks use `lm_eval`."


def _values(arguments: Sequence[str], option: str) -> list[str]:
    """Return the values of an option among arguments, `--option value` or `--option=value`."""
    apart = [value for name, value in itertools.pairwise(arguments) if name == option]
    return apart + [text.partition("=")[2] for text in arguments if text.startswith(f"{option}=")]


def _tasks_in(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.yaml"):
        with contextlib.suppress(TaskError):  # lm-eval has already reported the file
            name = read_task_file(file).get("task")
            if isinstance(name, str):
                yield name
