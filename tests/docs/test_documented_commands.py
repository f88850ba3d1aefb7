"""Every documented command and option exists."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import lm_eval.models
import pytest
import typer
from accelerate.commands.launch import launch_command_parser
from lm_eval._cli import HarnessCLI
from pip._internal.commands import create_command

from mera_ru_tasks.cli import app
from mera_ru_tasks.harness import run
from tests.support.documents import REPOSITORY, blocks, each_document, spans, text_of
from tests.support.known import known_tasks


def commands(block: str) -> Iterator[list[str]]:
    """Return the commands in a bash block as lists of words, without variable assignments."""
    for line in block.replace("\\\n", " ").splitlines():
        for part in re.split(r"&&|;|\|", line.partition(" #")[0]):
            words = shlex.split(re.sub(r'"\$\([^)]*\)"', "printed", part).strip())
            while words and re.fullmatch(r"export|[A-Z_]+=.*", words[0]):
                words.pop(0)
            if words and not words[0].startswith("#"):
                yield [words[0].lstrip("%!"), *words[1:]]  # as in a cell of a notebook


def check_mera_ru(arguments: Sequence[str]) -> None:
    """Parse a complete `mera-ru` command without running it."""
    command: Any = typer.main.get_command(app)
    rest = list(arguments)
    while hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"mera-ru has no command {name}"
        command = command.commands[name]
    context = command.make_context("mera-ru", rest)
    if arguments[0] == "run":
        check_lm_eval(["run", *context.args])


# The location of each backend's arguments in lm-eval, and the arguments that a backend passes to its engine.
BACKENDS = {"hf": "huggingface.py", "vllm": "vllm_causallms.py", "local-chat-completions": "api_models.py"}
HANDED_ON = {"vllm": {"gpu_memory_utilization"}}


@cache
def model_arguments(backend: str) -> set[str]:
    """Return the arguments of a backend's model, read from its source, because its packages may be missing."""
    source = (Path(lm_eval.models.__file__).parent / BACKENDS[backend]).read_text(encoding="utf-8")
    functions = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef))
    made = next(node for node in functions if node.name == "__init__")
    return {argument.arg for argument in (*made.args.args, *made.args.kwonlyargs)}


def check_lm_eval(arguments: Sequence[str]) -> None:
    parser = HarnessCLI()._parser
    known = parser._subparsers._group_actions[0].choices  # type: ignore[union-attr]
    given = list(arguments) if arguments[0] in known else ["run", *arguments]
    parsed = parser.parse_args(given)
    for task in ",".join(getattr(parsed, "tasks", None) or []).split(","):
        assert not task or task in known_tasks(), f"there is no task {task}"
    if getattr(parsed, "model_args", None):
        unknown = parsed.model_args.keys() - model_arguments(parsed.model) - HANDED_ON.get(parsed.model, set())
        assert not unknown, f"lm-eval's model {parsed.model} has no argument {unknown}"


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
    for name in re.findall(r"(?:mera-ru-tasks|\.)\[([\w,-]+)\]", " ".join(arguments)):
        assert set(name.split(",")) <= set(extras), f"there is no extra {name}"


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "mera-ru": check_mera_ru,
    "lm_eval": check_lm_eval,
    "accelerate": check_accelerate,
    "make": check_make,
    "pip": check_pip,
    "uv": check_pip,
}


@each_document
def test_each_documented_command_can_be_run(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "DIR").mkdir()  # the name of the user's folder on all pages
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
    """Return every long option of lm-eval and `mera-ru`. The options that `mera-ru run` adds are in its help."""
    parser = HarnessCLI()._parser
    parsers = [parser, *parser._subparsers._group_actions[0].choices.values()]  # type: ignore[union-attr]
    found = {option for one in parsers for option in one._option_string_actions}
    found |= set(re.findall(r"(?<![\w-])--[a-z][\w-]*", run.DIFFERENCE))
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
                pytestconfig.getoption(option)  # which raises an error if pytest has no such option
            elif span.startswith("pip "):
                assert create_command("install").parser.has_option(option), span
            else:
                assert option in known_options(), span
