"""Apply all changes that this package makes to lm-eval and the interpreter.

| change | needed because | made when |
| --- | --- | --- |
| `register_tasks` | lm-eval 0.4.13 has no entry points for tasks of other packages | `lm_eval.tasks` is imported |
| `install_run_check` | lm-eval 0.4.13 has no hook before it loads the model | `lm_eval.tasks` is imported |
| `keep_compiled_templates` | lm-eval 0.4.13 recompiles a template for each document | a task is created |
| `hide_traceback_of_user_errors` | lm-eval 0.4.13 shows a traceback for every exception | a task is created |
| `run_lm_eval` | lm-eval 0.4.13 reads arguments only from `sys.argv` | `mera-ru run` is called |

For each change, `tests/harness/test_patches.py` has a test that fails as soon as lm-eval no longer needs the change.

Tasks are registered as follows. The wheel installs `mera_ru_tasks_autoload.pth` in site-packages. Python executes the
single line of this file at every start. The line imports nothing, because an import would take a few milliseconds.
Instead, it adds a finder to `sys.meta_path`. When `lm_eval.tasks` is imported, the finder loads this module, but not
the package. In some environments the line is not executed, for example in a notebook that was started before the
installation, or if the package is in a folder on `PYTHONPATH`. In them, `import mera_ru_tasks` registers the tasks. The
tasks are not copied into lm-eval's folder, because that would not work for an editable checkout of lm-eval.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

_TASKS, _SETTINGS = "lm_eval.tasks", "lm_eval.config.evaluate_config"


class TasksFinder:
    """A finder for `sys.meta_path` that registers this package's tasks when `lm_eval.tasks` is imported."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find `lm_eval.tasks` with the other finders, and ignore every other module."""
        if name != _TASKS:
            return None
        sys.meta_path.remove(self)
        return find_spec(name, path, target)


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Find `lm_eval.tasks` with the other finders, and register this package's tasks after it is loaded.

    All finders are tried, because lm-eval may be an editable checkout with its own finder.

    Returns:
        The spec of the module, or None if `MERA_RU_NO_AUTOLOAD` is set or the module does not exist.
    """
    if _is_off():
        return None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, path, target) if find else None
        if spec is not None:
            _run_after_import(spec, _extend)
            return spec
    return None


def _is_off() -> bool:
    """Return True if the user disabled the registration and did not import the package."""
    return "mera_ru_tasks" not in sys.modules and is_autoload_off()


def is_autoload_off() -> bool:
    """Return True if the user set `MERA_RU_NO_AUTOLOAD`, which disables the registration in `lm_eval`."""
    return os.environ.get("MERA_RU_NO_AUTOLOAD", "") not in ("", "0")


def _run_after_import(spec: ModuleSpec, action: Callable[[Any], None]) -> None:
    """Call `action(module)` after the module's own loader has executed it."""
    loader: Any = spec.loader
    exec_module = loader.exec_module

    def exec_then_act(module: ModuleType) -> None:
        exec_module(module)
        action(module)

    loader.exec_module = exec_then_act


def register_tasks() -> None:
    """Make every `TaskManager` that is created later find this package's tasks.

    `import mera_ru_tasks` calls this function, which does not import lm-eval. After an installation the import is
    needed only for managers with `include_defaults=False`.
    """
    if _TASKS in sys.modules:
        _extend(sys.modules[_TASKS])
    elif not any(isinstance(finder, TasksFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TasksFinder())


def leave_out_other_tasks() -> None:
    """Make `TaskManager` skip lm-eval's own tasks in this process, because scanning them takes about 12 seconds."""
    import lm_eval.tasks

    _extend(lm_eval.tasks)
    lm_eval.tasks.TaskManager.__init__.mera_ru_only = True


def _extend(tasks_module: Any) -> None:
    """Wrap `TaskManager` once. If lm-eval's command line is running, also wrap its settings."""
    manager = getattr(tasks_module, "TaskManager", None)
    if manager is None:  # an unknown version of lm-eval; `--include_path "$(mera-ru path)"` still works
        return
    if not hasattr(manager.__init__, "mera_ru_only"):
        _extend_task_manager(manager)
    if _SETTINGS in sys.modules:
        install_run_check()


def _extend_task_manager(manager: Any) -> None:
    """Make `TaskManager` scan this package's YAML folder before the user's folders, and explain a missing task.

    The user's folders come later, so a user's task overrides a task of this package with the same name. `TaskManager`
    is defined in different modules, but in every supported release `lm_eval.tasks` contains it.
    """
    import inspect

    init, load_spec = manager.__init__, manager._load_spec
    signature = inspect.signature(init)

    @functools.wraps(init)
    def init_with_our_folder(self: Any, *args: Any, **kwargs: Any) -> None:
        call = signature.bind(self, *args, **kwargs)
        call.apply_defaults()
        given = call.arguments["include_path"]
        folders = list(given) if isinstance(given, (list, tuple)) else [given] if given else []
        ours = _yaml_folder()
        # A caller who disables the defaults and has not imported this package wants only the given folders.
        wanted = call.arguments["include_defaults"] or "mera_ru_tasks" in sys.modules
        if init_with_our_folder.mera_ru_only:  # type: ignore[attr-defined]
            call.arguments["include_defaults"] = False
        # If a folder were given twice, lm-eval would scan it twice and warn about each task.
        if wanted and not any(os.path.realpath(folder) == str(ours) for folder in folders):
            call.arguments["include_path"] = [str(ours), *folders]
        init(*call.args, **call.kwargs)
        self.include_path = given

    @functools.wraps(load_spec)
    def load_or_explain(self: Any, spec: Any) -> Any:
        try:
            return load_spec(self, spec)
        except KeyError as error:
            if not isinstance(spec, str) or spec in self.task_index or spec not in _task_names():
                raise
            raise KeyError(f"{error.args[0]}. {_HOW_TO_REGISTER}") from error

    init_with_our_folder.mera_ru_only = False  # type: ignore[attr-defined]
    manager.__init__ = init_with_our_folder
    manager._load_spec = load_or_explain


_HOW_TO_REGISTER = (
    "The task belongs to mera-ru-tasks. Write `import mera_ru_tasks` before you create the TaskManager, or pass the "
    "folder that `mera-ru path` prints as `include_path`."
)


def _yaml_folder() -> Path:
    """Return the result of `paths.yaml_folder` without importing the package, as explained at the top of this file."""
    package = Path(__file__).resolve().parents[1]
    return next(folder for folder in (package / "yaml_tasks", package.parent / "yaml_tasks") if folder.is_dir())


def _task_names() -> set[str]:
    return {file.stem for file in _yaml_folder().rglob("*.yaml")}


def install_run_check(**options: Any) -> None:
    """Make lm-eval's command line check runs of this package's tasks before it loads the model.

    Runs of other tasks do not change.

    Args:
        options: keyword arguments for `preflight.check`.
    """
    from lm_eval.config.evaluate_config import EvaluatorConfig

    process = EvaluatorConfig.process_tasks
    process = getattr(process, "__wrapped__", process)

    @functools.wraps(process)
    def process_and_check(self: Any, *args: Any, **kwargs: Any) -> Any:
        _prefer_task_to_folder(self)
        manager = process(self, *args, **kwargs)
        if any(leads_to_our_task(spec, manager) for spec in self.tasks):
            from mera_ru_tasks.harness import preflight

            preflight.check(self, manager, **options)
        return manager

    EvaluatorConfig.process_tasks = process_and_check


def _prefer_task_to_folder(settings: Any) -> None:
    """Make lm-eval find a task of this package even if the working directory contains a folder with the same name.

    If only one name is given, lm-eval 0.4.12 first looks for a folder with this name, and a data folder contains
    folders with the names of tasks. This function passes the name twice. lm-eval then does not look for a
    folder, and it runs the task once.
    """
    names = settings.tasks.split(",") if isinstance(settings.tasks, str) else settings.tasks
    if len(names) == 1 and names[0] in _task_names() and Path(names[0]).is_dir():
        settings.tasks = [*names, *names]


def leads_to_our_task(spec: Any, manager: Any) -> bool:
    """Return True if a name, or a configuration that lm-eval read from a file, refers to a task of this package."""
    if isinstance(spec, str):
        entry = manager.task_index.get(spec)
        if entry is None:
            return False
        return (
            leads_to_our_task(entry.cfg, manager)
            if entry.cfg
            else any(leads_to_our_task(name, manager) for name in entry.tags)
        )
    if not isinstance(spec, dict):
        return False
    origin = spec.get("class")
    name = origin if isinstance(origin, str) else f"{getattr(origin, '__module__', '')}."
    members = spec["task"] if isinstance(spec.get("task"), list) else []
    return "mera_ru_tasks." in name or any(leads_to_our_task(member, manager) for member in members)


def prepare_lm_eval() -> None:
    """Make the changes that a run of this package's tasks needs. Calling this again has no effect."""
    keep_compiled_templates()
    hide_traceback_of_user_errors()


def keep_compiled_templates() -> None:
    """Make lm-eval cache compiled templates.

    Without the cache, a template is compiled for each of 1,609 documents, which takes longer than everything else
    before the first request. The cache is safe, because the same source always compiles to the same code.
    """
    from lm_eval.utils import env

    if not hasattr(env.compile, "cache_info"):
        env.compile = functools.lru_cache(maxsize=64)(env.compile)


def hide_traceback_of_user_errors() -> None:
    """Make an uncaught `MeraRuError` print only its message, also in lm-eval's command line.

    Other exceptions are shown as before. With `LMEVAL_LOG_LEVEL=DEBUG`, the traceback is shown for all exceptions.
    """
    from mera_ru_tasks.issues import MeraRuError
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
    """Run lm-eval's command line in this process.

    Args:
        arguments: the arguments, as passed to `lm_eval` in a shell.

    Raises:
        SystemExit: lm-eval exited on its own, for example after `--help`.
    """
    from lm_eval.__main__ import cli_evaluate

    sys.argv = ["lm_eval", *arguments]
    cli_evaluate()
