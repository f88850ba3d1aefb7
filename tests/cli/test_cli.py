"""The command `mera-ru`: its help, start-up and version."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mera_ru_tasks.cli import app


def commands(typer_app, *path: str) -> list[tuple[str, ...]]:
    names = [(*path, info.name or info.callback.__name__) for info in typer_app.registered_commands]
    return names + [
        name for group in typer_app.registered_groups for name in commands(group.typer_instance, group.name)
    ]


@pytest.mark.parametrize("path", commands(app), ids=" ".join)
def test_every_command_explains_itself_with_an_example(path, mera_ru):
    outcome = mera_ru(*path, "--help")
    assert outcome.status == 0
    before, word, examples = outcome.out.lower().partition("example")
    assert word and (f"mera-ru {' '.join(path)}" in examples or "the help of lm-eval" in before)


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from mera_ru_tasks.cli import app; sys.argv = ['mera-ru', '--help']\n"
        "try: app()\nexcept SystemExit: pass\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    loaded = set(eval(out.splitlines()[-1]))
    heavy = {"lm_eval", "datasets", "torch", "numpy", "scipy", "pyarrow", "openai", "jinja2", "yaml", "transformers"}
    assert "typer" in loaded and not loaded & heavy


def test_version_and_no_command(mera_ru):
    assert mera_ru("--version").out.startswith("mera-ru 0.")
    assert mera_ru("nonsense").status == 2 and mera_ru("data", "nonsense").status == 2
    assert "submit" in (outcome := mera_ru()).out + outcome.err
    assert "--install-completion" in mera_ru("--help").out
