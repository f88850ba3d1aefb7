"""Compare `mera-ru run` with `lm_eval`, each in its own process in an environment with the built wheel."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.environments import Environment, make_environment
from tests.support.rows import data_folder, riddle

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, wheel: Path, lean_lm_eval: Path) -> Environment:
    made = make_environment(tmp_path_factory.mktemp("environment") / "venv", "wheel", lean_lm_eval)
    made.install(str(wheel))
    return made


def ours(environment: Environment, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return environment.run(str(environment.root / "bin" / "mera-ru"), "run", *arguments, **settings)


def stock(environment: Environment, *arguments: str, **settings: Any) -> subprocess.CompletedProcess[str]:
    return environment.run("-m", "lm_eval", *arguments, **settings)


def said(ended: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the standard error without progress bars and times."""
    lines = re.split(r"[\n\r]", ended.stderr)
    return [re.sub(r"^\d{4}-\d\d-\d\d:\d\d:\d\d:\d\d *", "", line) for line in lines if line and "it/s]" not in line]


def logs(folder: Path) -> dict[str, Any]:
    """Return the written files by name without dates. Times and the output path are removed."""
    written: dict[str, Any] = {}
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = f"{file.parent.relative_to(folder)}/{re.sub(r'_[^_]+$', file.suffix, file.name)}"
        text = file.read_text(encoding="utf-8")
        written[name] = [json.loads(part) for part in (text.splitlines() if file.suffix == ".jsonl" else [text])]
    [results] = next(content for name, content in written.items() if name.endswith(".json"))
    for name in ("date", "total_evaluation_time_seconds"):
        del results[name]
    return written


def test_it_prints_and_writes_what_lm_eval_does(environment: Environment, tmp_path: Path) -> None:
    arguments = [
        "--model", "dummy", "--tasks", "mera_ru_sample,riddles_sample_prefill", "--limit", "4", "--num_fewshot", "1",
        "--gen_kwargs", "max_gen_toks=8", "--seed", "7", "--log_samples", "--show_config", "--output_path", "out",
    ]  # fmt: skip
    ends = {}
    for name, command in (("ours", ours), ("stock", stock)):
        (tmp_path / name).mkdir()
        ends[name] = command(environment, *arguments, cwd=tmp_path / name)
        assert ends[name].returncode == 0, ends[name].stderr
    # With --show_config, the times in the results are also printed.
    table = [ended.stdout[ended.stdout.index("\ndummy (") :] for ended in ends.values()]
    assert table[0] == table[1]
    assert "|mera_ru_sample" in table[0]
    assert said(ends["ours"]) == said(ends["stock"])
    assert any("SHOULD ONLY BE USED FOR TESTING" in line for line in said(ends["ours"]))
    written = logs(tmp_path / "ours")
    assert written == logs(tmp_path / "stock")
    assert len(written) == 5
    assert len(next(content for name, content in written.items() if "riddles_sample_prefill" in name)) == 8


OWN = "task: own_riddles\ninclude: {folder}/riddles_closed.yaml\n"


def test_tasks_of_an_included_folder_are_known_too(environment: Environment, tmp_path: Path) -> None:
    base = environment.site_packages / "mera_ru_tasks" / "yaml_tasks" / "riddles"
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.yaml").write_text(OWN.replace("{folder}", str(base)))
    data = data_folder(tmp_path / "data", "riddles", [riddle(1)])
    ended = ours(
        environment, "--model", "dummy", "--tasks", "own_riddles,riddles_closed", "--include_path", "own",
        cwd=tmp_path, MERA_RU_DATA=str(data), MERA_RU_NO_AUTOLOAD="1",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    rows = {line.split("|")[1].strip() for line in ended.stdout.splitlines() if line.startswith("|")}
    assert {"own_riddles", "riddles_closed"} <= rows


def test_a_task_of_lm_eval_is_not_known_and_the_message_says_which_are(environment: Environment) -> None:
    ended = ours(environment, "--model", "dummy", "--tasks", "arc_easy,riddles_sample,nonsense")
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("Error: Tasks not found: arc_easy, nonsense. ") and "`mera-ru tasks`" in last
    assert "Traceback" not in ended.stderr


def test_a_task_that_is_nearly_known_is_named(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "own.yaml").write_text("task: city_quiz\nclass: !function mera_ru_tasks.CustomTask\n")
    (tmp_path / "own" / "broken.yaml").write_text("task: [")
    for folder, message in (
        ("own", "Did you mean 'city_quiz'?"),
        ("absent", "The --include_path folder absent does not exist"),
    ):
        ended = ours(environment, "--model", "dummy", "--tasks", "city_quizz", f"--include_path={folder}", cwd=tmp_path)
        assert ended.returncode == 1 and message in ended.stderr, ended.stderr


def test_a_users_mistake_ends_as_under_lm_eval(environment: Environment, tmp_path: Path) -> None:
    data = data_folder(tmp_path, "riddles", [riddle(1)])
    arguments = ["--model", "dummy", "--tasks", "riddles_closed", "--num_fewshot", "1"]
    ended = ours(environment, *arguments, MERA_RU_DATA=str(data))
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("Error: --num_fewshot 1 asks for more shots ")
    assert "Traceback" not in ended.stderr


def test_the_help_is_lm_evals_own_with_the_difference(environment: Environment) -> None:
    ended = ours(environment, "--help")
    assert (ended.returncode, ended.stderr) == (0, "")
    difference, _, help_text = ended.stdout.partition("\n\n")
    assert "not lm-eval's own" in difference and "--no-log-samples" in difference
    assert help_text == stock(environment, "run", "--help").stdout


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (["--modle", "x"], ["--modle", "'--model'"]),
        (["--aply_chat_template"], ["--aply_chat_template", "'--apply_chat_template'"]),
        (["--limit", "x"], ["--limit", "`mera-ru run --help`"]),
        (["--metadata", '{"mera_ru_data": data}'], ["rror: ", "--metadata: ", "nvalid "]),
        (["--gen_kwargs", "{bad"], ["Error: --gen_kwargs: Invalid JSON"]),
        (["--config", "absent.yaml"], ["Error: ", "absent.yaml"]),
    ],
)
def test_a_mistake_in_an_option_is_named(environment: Environment, argument: list[str], words: list[str]) -> None:
    ended = ours(environment, "--model", "dummy", "--tasks", "riddles_sample", *argument)
    # lm-eval's releases find some mistakes while they read the options (status 2), and others later.
    assert ended.returncode in (1, 2) and ended.stdout == ""
    assert all(word in ended.stderr for word in words) and "Traceback" not in ended.stderr, ended.stderr
