"""`make demo`: the baseline can be run, the printed commands are the ones that run, and nothing is overwritten."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from examples import demo_models
from mera_ru_tasks.issues import MeraRuError
from tests.support.environments import REPOSITORY

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs make and a POSIX shell")

# Each stub logs its name and arguments. `mera-ru` also creates its output file, and `python` prints a folder.
STUB = """#!/bin/sh
echo "$(basename "$0") $*" >> calls
case "$(basename "$0")" in
  python) echo "/models/$2" ;;
  mera-ru) for last; do :; done
    case "$1" in
      run) [ ! -e fails ] ;;
      *) [ ! -e "$last" ] && echo made > "$last" ;;
    esac ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """Return a folder in which `make demo` finds a complete environment, with stubs for the programs."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "mera-ru"):
        (programs / name).write_text(STUB)
        (programs / name).chmod(0o755)
    for name in ("pyvenv.cfg", "demo"):
        (tmp_path / ".venv" / name).touch()
    return tmp_path


def demo(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return subprocess.run(
        ["make", "demo", *arguments], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


def calls(checkout: Path) -> list[str]:
    lines = (checkout / "calls").read_text(encoding="utf-8").splitlines()
    (checkout / "calls").unlink()
    return [line for line in lines if not line.startswith("python")]


def test_what_is_run_is_printed(checkout: Path) -> None:
    ended = demo(checkout)
    assert ended.returncode == 0, ended.stderr
    printed = re.findall(r"^Running: \.venv/bin/(.*)$", ended.stdout, re.MULTILINE)
    assert printed == calls(checkout)
    *baseline, first, second, compare = printed
    assert [one.replace("random-gpt-neox", "gemma-3-270m") for one in baseline] == [first, second]
    assert "pretrained=/models/gemma-3-270m --tasks mera_ru_sample_prefill --num_fewshot 1 " in first
    assert "pretrained=/models/gemma-3-270m --tasks riddles_sample_rank --limit 12 " in second
    assert compare == "mera-ru compare results --baseline random-gpt-neox -o report.html"


def test_a_second_demo_leaves_the_first_ones_report_alone(checkout: Path) -> None:
    (checkout / "report.html").write_text("mine")
    for number in (2, 3):
        ended = demo(checkout)
        assert ended.returncode == 0, ended.stderr
        assert f"Open report-{number}.html" in ended.stdout
    assert (checkout / "report.html").read_text() == "mine"


def test_a_model_and_tasks_of_ones_own(checkout: Path) -> None:
    demo(checkout, "MODEL=org/model", "TASKS=riddles_sample", "LIMIT=3", "RESULTS=out")
    baseline, _, model, _, compare = calls(checkout)
    assert "pretrained=/models/random-gpt-neox --tasks riddles_sample " in baseline
    assert "pretrained=org/model --tasks riddles_sample --num_fewshot 1 --limit 3 " in model
    assert compare.startswith("mera-ru compare out --baseline random-gpt-neox ")


def test_ranking_can_be_left_out(checkout: Path) -> None:
    assert demo(checkout, "RANKED=").returncode == 0
    assert len(calls(checkout)) == 3


def test_a_run_that_fails_ends_the_demo(checkout: Path) -> None:
    (checkout / "fails").touch()
    ended = demo(checkout)
    assert ended.returncode != 0
    assert len(calls(checkout)) == 1


@pytest.mark.slow
def test_the_baseline_is_made_once_and_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = demo_models.model_folder("random-gpt-neox")
    assert folder == tmp_path / "mera-ru-tasks" / "random-gpt-neox"
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert demo_models.model_folder("random-gpt-neox") == folder
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before
    assert list(folder.parent.iterdir()) == [folder]
    torch.manual_seed(7)
    demo_models.save_random(tmp_path / "again")
    for name in ("model.safetensors", "tokenizer.json"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes(), "only the seed matters"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = "Сыплет «снег»?\nОтвет: ё😀"
    tokens = tokenizer(text, return_tensors="pt")["input_ids"]
    assert tokenizer.decode(tokens[0]) == text
    assert tokens.shape[1] < len(text)
    written = AutoModelForCausalLM.from_pretrained(folder).generate(tokens, max_new_tokens=9, do_sample=False)
    assert written.shape[1] == tokens.shape[1] + 9


def test_the_module_has_a_help() -> None:
    asked = subprocess.run(
        [sys.executable, "examples/demo_models.py", "--help"], capture_output=True, text=True, check=False
    )
    assert (asked.returncode, asked.stdout.startswith("The models of `make demo`")) == (0, True)


def test_an_unknown_model_is_named_with_those_there_are() -> None:
    with pytest.raises(MeraRuError, match="no model 'gpt'; it has gemma-3-270m and random-gpt-neox"):
        demo_models.model_folder("gpt")
