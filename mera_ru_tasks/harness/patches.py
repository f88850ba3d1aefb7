"""Every change that this package makes to lm-eval or to the interpreter.

| change | needed because | made when |
| --- | --- | --- |
| `register_tasks` | lm-eval 0.4.13 has no entry points for tasks of other packages | `lm_eval.tasks` is imported |
| `keep_compiled_templates` | lm-eval 0.4.13 compiles a template again for each document | a task is created |
| `hide_traceback_of_user_errors` | lm-eval 0.4.13 shows a traceback for every exception | a task is created |
| `run_lm_eval` | lm-eval 0.4.13 takes arguments from `sys.argv` only | `mera-ru run` is called |

`tests/harness/test_patches.py` has one test for each change that fails as soon as lm-eval no longer needs it.

How tasks are registered: the wheel puts `mera_ru_tasks_autoload.pth` into site-packages. Python runs its one line at
every start. The line imports nothing, since a first import would cost some milliseconds. It puts a finder on
`sys.meta_path`, which calls `find_spec` below when `lm_eval.tasks` is imported, once. `MERA_RU_NO_AUTOLOAD=1` turns
this off. Files placed inside lm-eval's folder would not be found if lm-eval is an editable checkout.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any

from mera_ru_tasks.paths import yaml_folder


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Find `lm_eval.tasks` as the other finders do, and register our tasks once it is loaded.

    lm-eval may be a wheel or an editable checkout with its own finder, so all finders are asked.

    Returns:
        The spec of the module; None if `MERA_RU_NO_AUTOLOAD` is set or the module does not exist.
    """
    if os.environ.get("MERA_RU_NO_AUTOLOAD", "") not in ("", "0"):
        return None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, path, target) if find else None
        if spec is not None:
            _run_after_import(spec, _extend_task_manager)
            return spec
    return None


def _run_after_import(spec: ModuleSpec, action: Callable[[Any], None]) -> None:
    """Call `action(module)` after the module's own loader has executed it."""
    loader: Any = spec.loader
    exec_module = loader.exec_module

    def exec_then_act(module: ModuleType) -> None:
        exec_module(module)
        action(module)

    loader.exec_module = exec_then_act


def register_tasks(*, only_ours: bool = False) -> None:
    """Let lm-eval's `TaskManager` find our tasks in this process.

    An installed package does this by itself when `lm_eval.tasks` is imported. Call it if `MERA_RU_NO_AUTOLOAD` is set
    or the package is on `sys.path` without being installed.

    Args:
        only_ours: if True, `TaskManager` leaves out lm-eval's own tasks, whose scan takes about 12 seconds.
    """
    import lm_eval.tasks

    _extend_task_manager(lm_eval.tasks, only_ours=only_ours)


def _extend_task_manager(tasks_module: Any, *, only_ours: bool = False) -> None:
    """Wrap `TaskManager.__init__` so that it scans our YAML folder before the user's folders.

    In every supported release `TaskManager` can be imported from `lm_eval.tasks`, wherever it is defined. A user's task
    with the name of one of ours wins, since the user's folders come later.
    """
    manager = getattr(tasks_module, "TaskManager", None)
    if manager is None:  # an unknown lm-eval: `--include_path "$(mera-ru path)"` still works
        return
    init = manager.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def init_with_our_folder(self: Any, *args: Any, **kwargs: Any) -> None:
        call = signature.bind(self, *args, **kwargs)
        call.apply_defaults()
        given = call.arguments["include_path"]
        folders = list(given) if isinstance(given, (list, tuple)) else [given] if given else []
        ours = yaml_folder()
        # A caller who turns the defaults off wants the named folders only.
        if call.arguments["include_defaults"]:
            call.arguments["include_defaults"] = not only_ours
            # lm-eval would scan a folder given twice twice, and warn about each task.
            if not any(os.path.realpath(folder) == str(ours) for folder in folders):
                call.arguments["include_path"] = [str(ours), *folders]
        init(*call.args, **call.kwargs)
        self.include_path = given

    manager.__init__ = init_with_our_folder


def prepare_lm_eval() -> None:
    """Make the changes that a run of our tasks needs; calling it again does nothing."""
    keep_compiled_templates()
    hide_traceback_of_user_errors()


def keep_compiled_templates() -> None:
    """Let lm-eval keep compiled templates.

    Compiling them for each of 1,609 documents takes longer than everything else before the first request. The same
    source always compiles to the same code.
    """
    from lm_eval.utils import env

    if not hasattr(env.compile, "cache_info"):
        env.compile = functools.lru_cache(maxsize=64)(env.compile)


def hide_traceback_of_user_errors() -> None:
    """Let `MeraRuError` end a program with its message only, also under lm-eval's command line.

    All other exceptions are shown as before. `LMEVAL_LOG_LEVEL=DEBUG` shows the traceback again.
    """
    from mera_ru_tasks.errors import MeraRuError
    from mera_ru_tasks.textutil import printable

    previous = sys.excepthook
    if getattr(previous, "_mera_ru", False):
        return

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if isinstance(error, MeraRuError) and os.environ.get("LMEVAL_LOG_LEVEL", "").upper() != "DEBUG":
            print(f"Error: {printable(error)}", file=sys.stderr)
        else:
            previous(kind, error, traceback)

    hook._mera_ru = True  # type: ignore[attr-defined]
    sys.excepthook = hook


def run_lm_eval(arguments: Sequence[str]) -> None:
    """Call lm-eval's command line in this process.

    Args:
        arguments: what follows `lm_eval` in a shell.

    Raises:
        SystemExit: lm-eval ended by itself, as after `--help`.
    """
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *arguments]
    cli_evaluate()
