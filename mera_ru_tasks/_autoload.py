"""Make stock lm-eval find our tasks after `pip install`, with no flag and no fork.

lm-eval looks for tasks in its own `tasks` folder and in `--include_path`; it has no entry points for other packages
yet. Until it has, the wheel puts `mera_ru_tasks_autoload.pth` into site-packages. Python runs its one line at every
start; the line imports nothing (a first import from site-packages alone would cost some milliseconds) and only puts a
finder onto `sys.meta_path`, which calls `find_spec` here when `lm_eval.tasks` is imported, once, and is idle without
lm-eval. `find_spec` then lets `TaskManager` scan our YAML folder too, before the user's own `include_path`, so that a
user's task of the same name wins. Files placed inside lm-eval's folder would do as much for a wheel, but not where
lm-eval is an editable checkout.

`MERA_RU_NO_AUTOLOAD=1` turns it off. When lm-eval gains entry points for tasks, this file and the `.pth` can go.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from mera_ru_tasks.paths import yaml_folder


def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None) -> ModuleSpec | None:
    """Find lm-eval's task module as the other finders do, and have its `TaskManager` extended once it is loaded.

    In every supported release `TaskManager` can be reached from `lm_eval.tasks`, wherever it is defined. lm-eval may be
    a wheel or an editable checkout with a finder of its own, hence the search over all finders.
    """
    if os.environ.get("MERA_RU_NO_AUTOLOAD", "") not in ("", "0"):
        return None
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, path, target) if find else None
        if spec is not None:
            _run_after_import(spec, extend_task_manager)
            return spec
    return None


def _run_after_import(spec: ModuleSpec, action: Callable[[Any], None]) -> None:
    """Call `action(module)` once the module of `spec` has been executed by its own loader."""
    loader: Any = spec.loader
    exec_module = loader.exec_module

    def exec_then_act(module: ModuleType) -> None:
        exec_module(module)
        action(module)

    loader.exec_module = exec_then_act


def extend_task_manager(tasks_module: Any, *, defaults: bool = True) -> None:
    """Wrap `TaskManager.__init__` so that it scans our YAML folder before the user's folders.

    Args:
        tasks_module: the module `lm_eval.tasks`.
        defaults: whether lm-eval's own tasks are scanned where the caller does not say.
    """
    manager = getattr(tasks_module, "TaskManager", None)
    if manager is None:  # an lm-eval that this release does not know: `--include_path "$(mera-ru path)"` remains
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
        # Without lm-eval's defaults the caller asked for exactly the folders named. Our folder given twice would be
        # scanned twice, with a warning for each task.
        if call.arguments["include_defaults"]:
            call.arguments["include_defaults"] = defaults
            if not any(os.path.realpath(folder) == str(ours) for folder in folders):
                call.arguments["include_path"] = [str(ours), *folders]
        init(*call.args, **call.kwargs)
        self.include_path = given

    manager.__init__ = init_with_our_folder
