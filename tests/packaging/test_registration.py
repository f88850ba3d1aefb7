"""After `pip install`, unmodified lm-eval finds the tasks. Each test starts Python in a separate environment."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import lm_eval
import pytest

from mera_ru_tasks.harness.patches import find_spec
from tests.support.documents import REPOSITORY
from tests.support.environments import Environment, make_environment
from tests.support.rows import data_folder, riddle
from tests.support.synthetic import write_data

pytestmark = pytest.mark.slow

FORMS_OF_LM_EVAL = ("wheel", "editable", "editable finder")
TASKS = "enantiosemy,riddles_closed,russian_regions"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path, lean_lm_eval: Path) -> Environment:
    """Install the wheel and an lm-eval that has one task."""
    made = make_environment(tmp_path_factory.mktemp("environment") / "venv", "wheel", lean_lm_eval)
    made.install(str(wheel))
    return made


@pytest.fixture(scope="module")
def own_task(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a user's folder with a task that has the same name as one of this package."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "own.yaml").write_text("task: riddles_closed\ndataset_path: own\n")
    return folder


# --- the wheel --------------------------------------------------------------------------------------------------------


def test_the_wheel_holds_all_that_the_package_needs(wheel: Path) -> None:
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    folders = {name: (REPOSITORY / name).rglob("*") for name in ("mera_ru_tasks", "yaml_tasks")}
    package, yaml = (
        {
            path.relative_to(REPOSITORY).as_posix()
            for path in paths
            if path.is_file() and "__pycache__" not in path.parts
        }
        for paths in folders.values()
    )
    assert names == package | {f"mera_ru_tasks/{name}" for name in yaml} | {"mera_ru_tasks_autoload.pth"}
    assert {"mera_ru_tasks/py.typed", "mera_ru_tasks/sample_data/enantiosemy/test.json"} <= names
    assert len(yaml) > 20


def test_the_wheel_has_licence_and_command(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel)
    [info] = {name.split("/")[0] for name in files.namelist() if ".dist-info/" in name}
    assert files.read(f"{info}/licenses/LICENSE") == (REPOSITORY / "LICENSE").read_bytes()
    assert files.read(f"{info}/entry_points.txt").decode().split() == (
        ["[console_scripts]", "mera-ru", "=", "mera_ru_tasks.cli:main"]
    )


# --- how the tasks are found ------------------------------------------------------------------------------------------

ASK = """
import json, logging, sys
started = sorted(name for name in sys.modules if name.startswith(("mera_ru_tasks", "lm_eval")))
records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append(record.getMessage())
logging.getLogger().addHandler(Keep())
from lm_eval.tasks import TaskManager
reports = []
for arguments in json.loads(sys.argv[1]):
    manager = TaskManager(**arguments)
    entry = manager.task_index.get("riddles_closed")
    reports.append({
        "all": manager.all_tasks,
        "where": str(entry.yaml_path) if entry else None,
        "include_path": manager.include_path,
        "warnings": list(records),
    })
    records.clear()
print(json.dumps({"started": started, "reports": reports}))
"""


def ask(environment: Environment, *arguments: dict[str, Any], **variables: str) -> list[dict[str, Any]]:
    """Return the tasks and messages of TaskManagers that a new Python process creates with these arguments."""
    ended = environment.run("-c", ASK, json.dumps(arguments), **variables)
    assert ended.returncode == 0, ended.stderr
    answer = json.loads(ended.stdout.splitlines()[-1])
    assert answer["started"] == [], "starting Python imports nothing of this package"
    reports: list[dict[str, Any]] = answer["reports"]
    return reports


def test_lm_eval_finds_the_tasks_and_a_users_own_come_first(environment: Environment, own_task: Path) -> None:
    ours = environment.site_packages / "mera_ru_tasks" / "yaml_tasks"
    plain, own, listed, alone, own_alone, doubled = ask(
        environment,
        {},
        {"include_path": str(own_task)},
        {"include_path": [str(own_task)]},
        {"include_defaults": False},
        {"include_defaults": False, "include_path": str(own_task)},
        {"include_path": str(ours)},
    )
    assert {"enantiosemy", "riddles_open", "russian_regions_sample_prefill", "mera_ru", "mera_ru_tasks"} <= set(
        plain["all"]
    )
    assert "arc_easy" in plain["all"], "lm-eval's own tasks also exist"
    assert plain["where"] == str(ours / "riddles" / "riddles_closed.yaml")
    assert (plain["warnings"], plain["include_path"]) == ([], None)

    for report in (own, listed):
        assert report["where"] == str(own_task / "own.yaml")
        assert set(plain["all"]) == set(report["all"])
        assert report["warnings"] == [
            f"Task 'riddles_closed' from {own_task / 'own.yaml'} overrides existing task from "
            f"{ours / 'riddles' / 'riddles_closed.yaml'}"
        ]
    assert (own["include_path"], listed["include_path"]) == (str(own_task), [str(own_task)])

    assert alone["all"] == [], "without the defaults, there are no tasks"
    assert own_alone["all"] == ["riddles_closed"]

    assert set(doubled["all"]) == set(plain["all"])
    assert (doubled["warnings"], doubled["where"]) == ([], plain["where"])


def test_the_plain_alternative_to_the_hook(environment: Environment) -> None:
    """`MERA_RU_NO_AUTOLOAD=1` and `--include_path "$(mera-ru path)"`."""
    folder = environment.run(str(environment.root / "bin" / "mera-ru"), "path").stdout.strip()
    assert folder == str(environment.site_packages / "mera_ru_tasks" / "yaml_tasks")
    off, included = ask(environment, {}, {"include_path": folder}, MERA_RU_NO_AUTOLOAD="1")
    assert "arc_easy" in off["all"]
    assert "enantiosemy" not in off["all"]
    assert {"arc_easy", "enantiosemy"} <= set(included["all"])
    assert included["warnings"] == []


@pytest.mark.parametrize(("setting", "on"), [("1", False), ("true", False), ("0", True), ("", True), (None, True)])
def test_a_variable_turns_the_hook_off(monkeypatch: pytest.MonkeyPatch, setting: str | None, on: bool) -> None:
    monkeypatch.delenv("MERA_RU_NO_AUTOLOAD", raising=False)
    # The hook does not import the package, but an explicit import would override the variable.
    monkeypatch.delitem(sys.modules, "mera_ru_tasks")
    if setting is not None:
        monkeypatch.setenv("MERA_RU_NO_AUTOLOAD", setting)
    assert (find_spec("lm_eval.tasks", lm_eval.__path__, None) is not None) == on


@pytest.mark.parametrize("form", FORMS_OF_LM_EVAL[1:])
def test_an_editable_lm_eval_finds_them_too(tmp_path: Path, wheel: Path, lean_lm_eval: Path, form: str) -> None:
    environment = make_environment(tmp_path / "venv", form, lean_lm_eval)
    environment.install(str(wheel))
    [report] = ask(environment, {})
    assert {"enantiosemy", "arc_easy"} <= set(report["all"])
    assert report["warnings"] == []
    found = environment.run("-c", "import lm_eval.tasks; print(lm_eval.tasks.__file__)").stdout.strip()
    assert found == str(lean_lm_eval / "lm_eval" / "tasks" / "__init__.py")


def test_an_editable_installation_of_ours_registers_too(tmp_path: Path, lean_lm_eval: Path) -> None:
    environment = make_environment(tmp_path / "venv", "wheel", lean_lm_eval)
    environment.install("--editable", str(REPOSITORY))
    [report] = ask(environment, {})
    assert report["where"] == str(REPOSITORY / "yaml_tasks" / "riddles" / "riddles_closed.yaml")
    assert report["warnings"] == []


# --- no effect on anything else ---------------------------------------------------------------------------------------


def silent(environment: Environment, program: str) -> None:
    ended = environment.run("-W", "error", "-c", program)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_without_lm_eval_nothing_is_noticed(tmp_path: Path, wheel: Path, lean_lm_eval: Path) -> None:
    environment = make_environment(tmp_path / "venv", None, lean_lm_eval)
    environment.install(str(wheel))
    silent(environment, "import json, sys; assert not [m for m in sys.modules if m.startswith('mera_ru_tasks')]")
    silent(
        environment,
        "try: import lm_eval.tasks\nexcept ModuleNotFoundError as error: name = error.name\nassert name == 'lm_eval'",
    )
    silent(environment, "import mera_ru_tasks.data.load")


def test_a_hook_without_its_package_is_harmless(tmp_path: Path, wheel: Path, lean_lm_eval: Path) -> None:
    environment = make_environment(tmp_path / "venv", "editable", lean_lm_eval)
    (environment.site_packages / "mera_ru_tasks_autoload.pth").write_bytes(
        zipfile.ZipFile(wheel).read("mera_ru_tasks_autoload.pth")
    )
    silent(environment, "import json")
    [report] = ask(environment, {})
    assert "arc_easy" in report["all"]
    assert "enantiosemy" not in report["all"]
    assert report["warnings"] == []


def test_uninstalling_leaves_nothing(tmp_path: Path, wheel: Path, lean_lm_eval: Path) -> None:
    environment = make_environment(tmp_path / "venv", "editable", lean_lm_eval)
    before = environment.files()
    environment.install(str(wheel))
    assert environment.site_packages / "mera_ru_tasks_autoload.pth" in environment.files() - before
    environment.run("-c", "import mera_ru_tasks.cli, mera_ru_tasks.harness.task")
    environment.pip("uninstall", "--yes", "mera-ru-tasks")
    assert environment.files() == before
    assert not (environment.root / "bin" / "mera-ru").exists()


# --- lm-eval's command line -------------------------------------------------------------------------------------------


def lm_eval_command(environment: Environment, *arguments: str, cwd: Path | None = None, **variables: str) -> Any:
    return environment.run("-m", "lm_eval", *arguments, cwd=cwd, **variables)


def test_lm_eval_validates_all_tasks(environment: Environment, tmp_path: Path) -> None:
    names = [path.stem for path in (REPOSITORY / "yaml_tasks").rglob("*.yaml")]
    ended = lm_eval_command(environment, "validate", "--tasks", ",".join(names), MERA_RU_DATA=str(write_data(tmp_path)))
    assert ended.returncode == 0, ended.stderr
    assert "All tasks found and valid" in ended.stdout


def test_lm_eval_lists_the_tasks(environment: Environment) -> None:
    ended = lm_eval_command(environment, "ls", "tasks")
    assert ended.returncode == 0, ended.stderr
    assert all(name in ended.stdout for name in (*TASKS.split(","), "mera_ru"))


def test_a_run_on_the_authors_files_ends_in_the_table(environment: Environment, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", rows_per_type=2)
    ended = lm_eval_command(environment, "--model", "dummy", "--tasks", TASKS, MERA_RU_DATA=str(data))
    assert ended.returncode == 0, ended.stderr
    table = [[cell.strip() for cell in line.split("|")] for line in ended.stdout.splitlines() if line.startswith("|")]
    assert {row[1] for row in table[2:]} == {*TASKS.split(","), ""}
    assert {(row[3], row[5]) for row in table[2:]} == {
        ("strict-match", "exact_match"), ("strict-match", "exact_match_plain"), ("strict-match", "group_exact_match"),
        ("flexible-extract", "exact_match"),
        ("flexible-extract", "group_exact_match"), ("flexible-extract", "f1"), ("flexible-extract", "letter_match"),
        ("flexible-extract", "answered"),
    }  # fmt: skip


MISTAKES = {
    "bad data": (["--metadata", '{"mera_ru_data": "bad"}'],
                 "Error: bad/riddles/test.json, row 2 (id 1), field `meta.id`: "),
    "too few shots": (["--metadata", '{"mera_ru_data": "good"}', "--num_fewshot", "1"],
                      "Error: --num_fewshot 1 asks for more shots than the data have (0). "),
}  # fmt: skip


@pytest.mark.parametrize("case", MISTAKES)
def test_a_users_mistake_ends_with_its_message(environment: Environment, tmp_path: Path, case: str) -> None:
    data_folder(tmp_path / "bad", "riddles", [riddle(1), riddle(1)])
    data_folder(tmp_path / "good", "riddles", [riddle(1)])
    arguments, message = MISTAKES[case]
    ended = lm_eval_command(environment, "--model", "dummy", "--tasks", "riddles_closed", *arguments, cwd=tmp_path)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(message)
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("error", "variables", "last", "traceback"),
    [
        ("DataError('no such row')", {}, "Error: no such row", False),
        (
            "DataError('no such row')",
            {"LMEVAL_LOG_LEVEL": "debug"},
            "mera_ru_tasks.issues.DataError: no such row",
            True,
        ),
        ("KeyError('x')", {}, "KeyError: 'x'", True),
    ],
)
def test_only_our_errors_end_without_a_traceback(
    environment: Environment, error: str, variables: dict[str, str], last: str, traceback: bool
) -> None:
    program = (
        "from mera_ru_tasks.issues import *; from mera_ru_tasks.harness.patches import *; "
        f"hide_traceback_of_user_errors(); hide_traceback_of_user_errors(); raise {error}"
    )
    ended = environment.run("-c", program, **variables)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == last
    assert ("Traceback" in ended.stderr) == traceback


# --- other ways of installing -----------------------------------------------------------------------------------------

FROM_A_FOLDER = """
import sys
from lm_eval.tasks import TaskManager
print("enantiosemy" in TaskManager().all_tasks)
import mera_ru_tasks
print([{"enantiosemy", "arc_easy"} & set(TaskManager(include_defaults=kept).all_tasks) for kept in (True, False)])
"""


def test_an_import_registers_the_tasks_of_a_folder_on_the_path(tmp_path: Path, wheel: Path, lean_lm_eval: Path) -> None:
    """As with `pip install --target`, and in a notebook whose kernel was started before the installation."""
    environment = make_environment(tmp_path / "venv", "wheel", lean_lm_eval)
    environment.pip("install", "--no-deps", "--no-index", "--target", str(tmp_path / "packages"), str(wheel))
    ended = environment.run("-c", FROM_A_FOLDER, PYTHONPATH=str(tmp_path / "packages"))
    before, after = ended.stdout.splitlines()
    assert before == "False", ended.stderr
    assert [set(found) for found in eval(after)] == [{"enantiosemy", "arc_easy"}, {"enantiosemy"}]


def test_a_folder_named_like_the_task_does_not_hide_it(environment: Environment, tmp_path: Path) -> None:
    """lm-eval 0.4.12 interprets a single name as a folder of tasks."""
    data_folder(tmp_path, "riddles_closed", [riddle(1)])
    arguments = ("--model", "dummy", "--tasks", "riddles_closed", "--limit", "1")
    ended = environment.run("-m", "lm_eval", *arguments, cwd=tmp_path, MERA_RU_DATA=str(tmp_path))
    assert ended.returncode == 0 and "|riddles_closed|" in ended.stdout, ended.stderr
