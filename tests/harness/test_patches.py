"""What the package changes in lm-eval and in the interpreter, and whether lm-eval still needs it.

Each test named `..._still_needs_...` runs lm-eval as it is. If one fails, that patch can go.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import lm_eval.__main__
import lm_eval.tasks
import pytest
from lm_eval._cli import HarnessCLI
from lm_eval.tasks import _factory, manager
from lm_eval.utils import apply_template, env

from mera_ru_tasks.errors import DataError
from mera_ru_tasks.harness import patches

PRELUDE = "import os; os.environ['MERA_RU_NO_AUTOLOAD'] = '1'\n"


def python(program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python in which our tasks are not registered."""
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program, *arguments], capture_output=True, text=True, check=False
    )


# --- whether lm-eval still needs them --------------------------------------------------------------------------------


def test_lm_eval_still_needs_the_registration_of_tasks() -> None:
    sources = "".join(inspect.getsource(module) for module in (lm_eval.tasks, manager, _factory))
    assert "entry_points" not in sources


def test_lm_eval_still_needs_its_templates_to_be_kept() -> None:
    ended = python(
        "from lm_eval import utils\n"
        "compiled, compile_ = [], utils.env.compile\n"
        "utils.env.compile = lambda *a, **k: compiled.append(a) or compile_(*a, **k)\n"
        "for number in range(2): utils.apply_template('{{ a }}', {'a': number})\n"
        "print(len(compiled))"
    )
    assert ended.stdout.strip() == "2", ended.stderr


def test_lm_eval_still_needs_tracebacks_of_user_errors_to_be_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise DataError("no such row")

    monkeypatch.setattr(HarnessCLI, "execute", fail)
    with pytest.raises(DataError):
        patches.run_lm_eval(["ls", "tasks"])


def test_lm_eval_still_needs_its_arguments_in_sys_argv() -> None:
    assert not inspect.signature(lm_eval.__main__.cli_evaluate).parameters
    assert list(inspect.signature(HarnessCLI.parse_args).parameters) == ["self"]


# --- what they do ----------------------------------------------------------------------------------------------------

STATE = """
import json, sys
import lm_eval.utils, lm_eval.tasks
before = [sys.excepthook, list(sys.meta_path), lm_eval.utils.env.compile, lm_eval.tasks.TaskManager.__init__]
import mera_ru_tasks, mera_ru_tasks.harness
from mera_ru_tasks import *
import mera_ru_tasks.harness.task, mera_ru_tasks.harness.filters, mera_ru_tasks.harness.prompt
after = [sys.excepthook, list(sys.meta_path), lm_eval.utils.env.compile, lm_eval.tasks.TaskManager.__init__]
print(json.dumps([one == other for one, other in zip(before, after)]))
"""


def test_importing_the_package_changes_nothing() -> None:
    ended = python(STATE)
    assert json.loads(ended.stdout) == [True] * 4, ended.stderr


REGISTER = """
import sys
from lm_eval.tasks import TaskManager
import mera_ru_tasks
names = lambda: set(TaskManager().all_tasks)
assert "riddles_sample" not in set(TaskManager(include_defaults=False).all_tasks)
for _ in range(2): mera_ru_tasks.register_tasks()
from mera_ru_tasks.harness.patches import register_tasks
register_tasks(only_ours=True)
manager = TaskManager()
assert "riddles_sample" in manager.all_tasks and "arc_easy" not in manager.all_tasks and manager.include_path is None
print("as said")
"""


def test_tasks_can_be_registered_by_a_call() -> None:
    ended = python(REGISTER)
    assert ended.stdout.strip() == "as said", ended.stderr


def test_templates_are_compiled_once() -> None:
    patches.keep_compiled_templates()
    patches.keep_compiled_templates()
    before = env.compile.cache_info().misses
    assert [apply_template("{{ a }}, as in test_patches", {"a": number})[0] for number in range(3)] == ["0", "1", "2"]
    assert env.compile.cache_info().misses == before + 1
