"""Run lm-eval's command line in this process with only this package's tasks (`mera-ru run`).

At startup lm-eval reads the YAML files of all its 14,000 tasks, which takes longer than everything else before the
first request. `mera-ru run` skips them and gives the same scores as `lm_eval`. It differs in three more ways: samples
are logged if there is an output folder, a failure to write the results is an error, and Ctrl-C reports which responses
were saved.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from mera_ru_tasks.harness import patches
from mera_ru_tasks.issues import OutputError, TaskError
from mera_ru_tasks.paths import read_task_file, task_names
from mera_ru_tasks.textutil import LIST_TASKS, suggest

DIFFERENCE = (
    "mera-ru run takes the same arguments as `lm_eval run`, with two differences:\n"
    "- It starts faster, because it knows the tasks of mera-ru-tasks and of --include_path, but not lm-eval's own.\n"
    "- It logs the samples if --output_path is set. To turn this off, add --no-log-samples.\n"
    "The help of lm-eval:"
)


def run(arguments: Sequence[str], *, keep_samples: bool = True) -> None:
    """Run `lm_eval run` in this process.

    Args:
        arguments: the arguments of `lm_eval run`.
        keep_samples: True to log the samples if `--output_path` is set, even without `--log_samples`.

    Raises:
        TaskError: a task is unknown, or a check before the run failed.
        OutputError: lm-eval could not write the results.
        SystemExit: lm-eval exited on its own, for example after `--help`. After Ctrl-C the status is 130.
    """
    patches.leave_out_other_tasks()
    patches.install_run_check(keep_samples=keep_samples)
    try:
        with _detect_lost_results():
            patches.run_lm_eval(["run", *arguments])
    except KeyboardInterrupt:
        print(_interrupted(arguments), file=sys.stderr)
        raise SystemExit(130) from None
    except SystemExit as ended:
        if ended.code == _USAGE_ERROR:
            print(_how_to_call(arguments), file=sys.stderr)
        raise
    except (ValueError, FileNotFoundError) as error:
        text = str(error)
        if text.startswith(_NOT_FOUND):
            raise TaskError(_not_found(text.removeprefix(_NOT_FOUND).split(", "), arguments)) from error
        if text.startswith(_INVALID):
            option = next((f"{name}: " for name, value in itertools.pairwise(arguments) if value and value in text), "")
            raise TaskError(option + text) from error
        raise


# The status with which lm-eval's parser exits, and the messages that it raises with a traceback.
_USAGE_ERROR = 2
_INVALID = ("Invalid JSON: ", "Config file not found: ")


def _how_to_call(arguments: Sequence[str]) -> str:
    """Return what helps after a usage error. lm-eval's message names another command and suggests no option."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
        patches.run_lm_eval(["run", "--help"])
    options = set(re.findall(r"--\w+", text.getvalue()))
    given = (argument.partition("=")[0] for argument in arguments if argument.startswith("--"))
    near = [suggest(name, options) for name in given if options and name not in options]
    return " ".join([*near[:1], "To list the options, run `mera-ru run --help`."])


def _interrupted(arguments: Sequence[str]) -> str:
    cached = [*_values(arguments, "--use_cache"), *_values(arguments, "-c")]
    if cached:
        return f"\nInterrupted. The responses so far are in {cached[-1]}_rank0.db. To continue, repeat the command."
    return (
        "\nInterrupted. The responses so far are lost. With `--use_cache FILE`, lm-eval saves each response when it "
        "arrives, and repeating the command continues an interrupted run."
    )


@contextlib.contextmanager
def _detect_lost_results() -> Iterator[None]:
    """Raise OutputError at the end if lm-eval could not write its results, for which lm-eval only logs a warning."""
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
            f"lm-eval could not write all results ({failures[0]}). Only the table above remains. Check the free space "
            "and the permissions of the --output_path folder."
        )


_NOT_FOUND = "Tasks not found: "


def _not_found(tasks: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the message for tasks that lm-eval cannot find, with hints based on the arguments."""
    folders = [Path(folder) for folder in _values(arguments, "--include_path")]
    known = {*task_names(), *(name for folder in folders for name in _tasks_in(folder))}
    text = f"{_NOT_FOUND}{', '.join(tasks)}. "
    for folder in folders:
        if not folder.is_dir():
            text += f"The --include_path folder {folder} does not exist. "
    text += suggest(tasks[0], known, LIST_TASKS)
    return f"{text} `mera-ru run` does not know lm-eval's own tasks. To run them, use `lm_eval`."


def _values(arguments: Sequence[str], option: str) -> list[str]:
    """Return all values given for an option, as `--option value` or `--option=value`."""
    apart = [value for name, value in itertools.pairwise(arguments) if name == option]
    return apart + [text.partition("=")[2] for text in arguments if text.startswith(f"{option}=")]


def _tasks_in(folder: Path) -> Iterator[str]:
    for file in folder.rglob("*.yaml"):
        with contextlib.suppress(TaskError):  # lm-eval has already reported the file
            name = read_task_file(file).get("task")
            if isinstance(name, str):
                yield name
