"""lm-eval's command line in this process, with an index of our tasks alone.

At its start lm-eval reads the YAML files of all its tasks, some 14,000, which takes longer than all else before the
first request. Nothing here changes what a run prints, writes or measures.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from mera_ru_tasks._autoload import extend_task_manager
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.paths import yaml_folder

DIFFERENCE = (
    "mera-ru run takes lm-eval's arguments and does what `lm_eval run` does, but starts sooner: it knows the tasks of\n"
    "mera-ru-tasks and of --include_path only, none of lm-eval's own. The help of lm-eval:"
)


def run(arguments: Sequence[str]) -> None:
    """Run `lm_eval run` with these arguments; ends with SystemExit where lm-eval does, as after `--help`.

    Raises:
        TaskError: a task is neither ours nor in `--include_path`.
    """
    import lm_eval.tasks
    from lm_eval.__main__ import cli_evaluate

    extend_task_manager(lm_eval.tasks, defaults=False)
    sys.argv = ["lm_eval", "run", *arguments]
    try:
        cli_evaluate()
    except ValueError as error:
        if not str(error).startswith("Tasks not found: "):
            raise
        ours = ", ".join(sorted(path.stem for path in yaml_folder().glob("*.yaml")))
        raise TaskError(
            f"{error}. `mera-ru run` knows only the tasks in the folder that --include_path names and these: {ours}. "
            "For the tasks of lm-eval use `lm_eval`."
        ) from error
