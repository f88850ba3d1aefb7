"""`mera-ru run`: lm-eval's command line in this process, with an index of our tasks only.

At its start lm-eval reads the YAML files of all its 14,000 tasks, which takes longer than everything else before the
first request. Nothing here changes what a run prints, writes or measures.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from mera_ru_tasks.data.custom import read_task_file
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.harness import patches
from mera_ru_tasks.paths import task_names
from mera_ru_tasks.textutil import suggest

DIFFERENCE = (
    "mera-ru run takes lm-eval's arguments and does what `lm_eval run` does, but starts sooner: it knows the tasks of\n"
    "mera-ru-tasks and of --include_path only, none of lm-eval's own. The help of lm-eval:"
)


def run(arguments: Sequence[str]) -> None:
    """Run `lm_eval run` with these arguments.

    Raises:
        TaskError: a task is neither ours nor in `--include_path`.
        SystemExit: lm-eval ended by itself, as after `--help`.
    """
    patches.register_tasks(only_ours=True)
    try:
        patches.run_lm_eval(["run", *arguments])
    except ValueError as error:
        if not str(error).startswith(_NOT_FOUND):
            raise
        raise TaskError(_not_found(str(error).removeprefix(_NOT_FOUND).split(", "), arguments)) from error


_NOT_FOUND = "Tasks not found: "


def _not_found(tasks: Sequence[str], arguments: Sequence[str]) -> str:
    """Return the message about tasks that lm-eval does not find, with hints from its arguments."""
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
        with contextlib.suppress(TaskError):  # lm-eval has reported the file already
            name = read_task_file(file).get("task")
            if isinstance(name, str):
                yield name
