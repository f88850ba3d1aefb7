"""Write the pages that are made from the code: the command reference, in both languages.

`make reference` runs it, and a test fails if a page is out of date. The texts come from the commands' own help.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

# For each language: the page's opening, the header of the tables, and the word above examples.
TEXTS = {
    "": (
        "# Command reference\n\n"
        "The command `mera-ru` does everything around a run. The run itself is lm-eval's, and `mera-ru run` takes all "
        "options of `lm_eval run`.\n\n"
        "This page comes from the commands' own help: `mera-ru compare --help`, for example, prints the same.",
        ("argument or option", "meaning"),
        "Examples:",
    ),
    "ru": (
        "# Справочник команд\n\n"
        "Команда `mera-ru` делает всё, что нужно до и после прогона. Сам прогон выполняет lm-eval: `mera-ru run` "
        "принимает все параметры `lm_eval run`.\n\n"
        "Страница собрана из справки самих команд, поэтому описания на английском: то же печатает, например, "
        "`mera-ru compare --help`.",
        ("аргумент или параметр", "описание"),
        "Примеры:",
    ),
}


# Some versions of typer name the type of each argument.
_TYPE = re.compile(r" <(?:list\[)?(?:Path|str|TEXT|PATH)\]?>")


def commands(command: Any, name: str = "mera-ru", parent: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield each command that does something, with its context, in the order of the help."""
    context = command.context_class(command, info_name=name, parent=parent)
    if not hasattr(command, "commands"):
        yield command, context
    for child, subcommand in getattr(command, "commands", {}).items():
        if not subcommand.hidden:
            yield from commands(subcommand, child, context)


def section(command: Any, context: Any, header: tuple[str, str], examples: str) -> str:
    """Return a command's section as Markdown."""
    description, _, shown = (command.help or "").partition("\b\n")
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    lines = [f"## {context.command_path}", "", _text(description), "", "```text", usage, "```"]
    parameters = [parameter for parameter in command.get_params(context) if "--help" not in parameter.opts]
    records = [record for parameter in parameters if (record := parameter.get_help_record(context))]
    if records:
        lines += ["", f"| {header[0]} | {header[1]} |", "| --- | --- |"]
        lines += [f"| `{_cell(_TYPE.sub('', name))}` | {_cell(_text(meaning))} |" for name, meaning in records]
    if shown:
        lines += [
            "",
            examples,
            "",
            "```bash",
            *(line.removeprefix("  ") for line in shown.rstrip().splitlines()[1:]),
            "```",
        ]
    return "\n".join(lines)


def _text(text: str) -> str:
    """Return a help text on one line for each paragraph, with command lines and names marked as code."""
    paragraphs = [" ".join(part.split()) for part in text.strip().split("\n\n")]
    outside = re.compile(r"(`[^`]*`)")
    parts = outside.split("\n\n".join(paragraphs))
    names = r"--[a-z][\w-]+|[A-Z]+(?:_[A-Z]+)+|\w[\w-]*\.(?:jsonl?|yaml|html|csv|md|zip)"
    code = re.compile(rf"(?<![\w/-])({names})(?![\w-])")
    return "".join(part if part.startswith("`") else code.sub(r"`\1`", part) for part in parts)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n\n", "<br>")


def pages() -> dict[Path, str]:
    """Return the text of each generated page."""
    from mera_ru_tasks.cli import app

    found = list(commands(typer.main.get_command(app)))
    made = {}
    for folder, (opening, header, examples) in TEXTS.items():
        sections = [section(command, context, header, examples) for command, context in found]
        made[HERE / folder / "cli.md"] = "\n\n".join([opening, *sections]) + "\n"
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
