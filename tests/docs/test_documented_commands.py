"""Every command and option that the documentation names exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from accelerate.commands.launch import launch_command_parser
from documents import REPOSITORY, blocks, each_document, spans, text_of
from known import known_tasks
from lm_eval._cli import HarnessCLI

from mera_ru_tasks.cli import app


def commands(block: str) -> Iterator[list[str]]:
    """The commands of a bash block, as words, without the variables that are set before them."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|\|", line.partition(" #")[0]):
            words = shlex.split(re.sub(r'"\$\([^)]*\)"', "printed", part).strip())
            while words and re.fullmatch(r"export|[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words and not words[0].startswith("#"):
                yield words


def check_mera_ru(arguments: Sequence[str]) -> None:
    """Parse a whole `mera-ru` command, without running it."""
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    while hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"mera-ru has no command {name}"
        command = command.commands[name]
    context = command.make_context("mera-ru", rest)
    if arguments[0] == "run":
        check_lm_eval(["run", *context.args])


def check_lm_eval(arguments: Sequence[str]) -> None:
    parser = HarnessCLI()._parser
    known = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    given = list(arguments) if arguments[0] in known else ["run", *arguments]
    parsed = parser.parse_args(given)
    for task in ",".join(getattr(parsed, "tasks", None) or []).split(","):
        assert not task or task in known_tasks(), f"there is no task {task}"


def check_accelerate(arguments: Sequence[str]) -> None:
    assert arguments[0] == "launch"
    parsed = launch_command_parser().parse_args(arguments[1:])
    assert (parsed.module, parsed.training_script) == (True, "lm_eval")
    check_lm_eval(parsed.training_script_args)


def check_make(arguments: Sequence[str]) -> None:
    makefile = text_of(REPOSITORY / "Makefile")
    for word in arguments:
        name, assigned, _ = word.partition("=")
        pattern = rf"^{name} \?=" if assigned else rf"^{name}:"
        assert re.search(pattern, makefile, re.MULTILINE), f"the Makefile has no {name}"


def check_pip(arguments: Sequence[str]) -> None:
    extras = re.findall(r"^([\w-]+) = \[", text_of(REPOSITORY / "pyproject.toml"), re.MULTILINE)
    for name in re.findall(r"mera-ru-tasks\[([\w,-]+)\]", " ".join(arguments)):
        assert set(name.split(",")) <= set(extras), f"there is no extra {name}"


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "mera-ru": check_mera_ru,
    "lm_eval": check_lm_eval,
    "accelerate": check_accelerate,
    "make": check_make,
    "pip": check_pip,
}


@each_document
def test_each_documented_command_can_be_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DIR").mkdir()  # what a user's folder is called throughout
    for block in blocks(document, "bash"):
        for name, *arguments in commands(block):
            assert name in CHECKS, f"no test knows how to check the command {name}"
            CHECKS[name](arguments)


@each_document
def test_each_command_named_in_passing_exists(document: Path) -> None:
    command: Any = typer.main.get_command(app)
    for span in spans(document):
        words = span.replace("…", "").split()
        if words[:1] == ["mera-ru"]:
            at = command
            for word in words[1:]:
                if hasattr(at, "commands") and not word.startswith("-"):
                    assert word in at.commands, span
                    at = at.commands[word]
        elif words[:1] == ["make"]:
            check_make(words[1:])


@cache
def known_options() -> set[str]:
    """Every long option of lm-eval and of `mera-ru`."""
    parser = HarnessCLI()._parser
    parsers = [parser, *parser._subparsers._group_actions[0].choices.values()]  # type: ignore[union-attr]
    found = {option for one in parsers for option in one._option_string_actions}
    waiting: list[Any] = [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        found |= {option for parameter in command.params for option in parameter.opts}
        waiting += getattr(command, "commands", {}).values()
    return found


@each_document
def test_each_option_named_in_passing_exists(document: Path, pytestconfig: pytest.Config) -> None:
    for span in spans(document):
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span):
            if "pytest" in span:
                pytestconfig.getoption(option)  # which raises where pytest has no such option
            else:
                assert option in known_options(), span
