"""The changes to lm-eval and the interpreter, and whether lm-eval still needs them.

Each test named `..._still_needs_...` runs lm-eval without the change. If the test fails, the change can be removed.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import sys

import lm_eval.__main__
import lm_eval.tasks
import pytest
from lm_eval._cli import HarnessCLI, run
from lm_eval.tasks import _factory, manager
from lm_eval.utils import apply_template, env

from mera_ru_tasks.harness import patches
from mera_ru_tasks.issues import DataError

PRELUDE = "import os; os.environ['MERA_RU_NO_AUTOLOAD'] = '1'\n"


def python(program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a program with a Python in which this package's tasks are not registered."""
    return subprocess.run(
        [sys.executable, "-c", PRELUDE + program, *arguments], capture_output=True, text=True, check=False
    )


# --- whether lm-eval still needs the changes --------------------------------------------------------------------------


def test_lm_eval_still_needs_the_registration_of_tasks() -> None:
    sources = "".join(inspect.getsource(module) for module in (lm_eval.tasks, manager, _factory))
    assert "entry_points" not in sources


def test_lm_eval_still_needs_its_runs_to_be_checked() -> None:
    source = inspect.getsource(run.Run._execute)
    steps = source[source.index("process_tasks") : source.index("simple_evaluate(")]
    assert "entry_points" not in steps and "hook" not in steps


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


# --- the effects of the changes ---------------------------------------------------------------------------------------

STATE = """
import json, sys
import lm_eval.utils
import lm_eval.tasks
before = [sys.excepthook, list(sys.meta_path), lm_eval.utils.env.compile]
import mera_ru_tasks, mera_ru_tasks.harness
from mera_ru_tasks import *
import mera_ru_tasks.harness.task, mera_ru_tasks.harness.filters, mera_ru_tasks.harness.prompt
after = [sys.excepthook, list(sys.meta_path), lm_eval.utils.env.compile]
print(json.dumps([one == other for one, other in zip(before, after)]))
"""


def test_importing_the_package_changes_nothing_but_the_registration() -> None:
    ended = python(STATE)
    assert json.loads(ended.stdout) == [True] * 3, ended.stderr


LM_EVAL_FIRST = """
from lm_eval.tasks import TaskManager
before = TaskManager(include_defaults=False)
import mera_ru_tasks
"""
PACKAGE_FIRST = """
import sys, mera_ru_tasks
assert not [name for name in sys.modules if name.startswith("lm_eval")]
from lm_eval.tasks import TaskManager
"""
REGISTERED = """
from mera_ru_tasks.harness import patches
for _ in range(2): patches.register_tasks()
manager = TaskManager(include_defaults=False)
assert "riddles_sample" in manager.all_tasks and "arc_easy" not in manager.all_tasks and manager.include_path is None
for _ in range(2): patches.leave_out_other_tasks()
manager = TaskManager()
assert "riddles_sample" in manager.all_tasks and "arc_easy" not in manager.all_tasks
print(list(manager.load("riddles_sample")["tasks"]))
"""


@pytest.mark.parametrize("order", [LM_EVAL_FIRST, PACKAGE_FIRST])
def test_the_package_s_import_registers_the_tasks_for_later_managers(order: str) -> None:
    ended = python(order + REGISTERED)
    assert ended.stdout.strip() == "['riddles_sample']", ended.stderr


UNKNOWN = """
manager = TaskManager(include_defaults=False)
for name in ("riddles_sample", "nonsense"):
    try: manager.load(name)
    except KeyError as error: print("import mera_ru_tasks" in str(error))
"""


def test_a_manager_without_our_tasks_says_how_to_have_them() -> None:
    hook = "from mera_ru_tasks.harness.patches import register_tasks\nregister_tasks()\nimport sys\n"
    forget = "from lm_eval.tasks import TaskManager\ndel sys.modules['mera_ru_tasks']\n"
    ended = python(hook + forget + UNKNOWN)
    assert ended.stdout.split() == ["True", "False"], ended.stderr


def test_templates_are_compiled_once() -> None:
    patches.keep_compiled_templates()
    patches.keep_compiled_templates()
    before = env.compile.cache_info().misses
    assert [apply_template("{{ a }}, as in test_patches", {"a": number})[0] for number in range(3)] == ["0", "1", "2"]
    assert env.compile.cache_info().misses == before + 1
