"""Generate the command reference and the chart of the speed in both languages.

`make reference` runs this module, and a test fails if a file is out of date. The reference comes from the help of the
commands, and the chart from the table on the page about speed.
"""

from __future__ import annotations

import html
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

# For each language: the start of the page, the header of the tables, and the word above examples.
TEXTS = {
    "": (
        "# Command reference\n\n"
        "The command `mera-ru` does everything before and after a run. lm-eval does the run itself, and `mera-ru run` "
        "accepts all options of `lm_eval run`.\n\n"
        "This page is generated from the help of the commands, such as `mera-ru compare --help`.",
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


# Some versions of typer show the type of each argument.
_TYPE = re.compile(r" <(?:list\[)?(?:Path|str|TEXT|PATH)\]?>")


def commands(command: Any, name: str = "mera-ru", parent: Any = None) -> Iterator[tuple[Any, Any]]:
    """Yield each command that can be run, with its context, in the order of the help."""
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


# The labels of the chart: the axis, this package, the same work without it.
LEGEND = {"": ("seconds", "this package", "without it"), "ru": ("секунды", "этот пакет", "без него")}
_ROW = re.compile(r"^\| (?P<step>[^|]+) \| (?P<seconds>[\d.,]+) \| (?P<other>[\d.,]+\d)?", re.MULTILINE)
# In pixels: the widths of the step names, of the axis and of the chart, and the height of a row.
_NAMES, _AXIS, _WIDTH, _HEIGHT = 400, 360, 800, 30


def speed_picture(page: str, legend: tuple[str, str, str]) -> str:
    """Draw the times in the table on the page about speed, on an axis from 0.1 to 1,000 seconds.

    Args:
        page: the page's Markdown.
        legend: the labels of the axis and of the two kinds of marks.
    """
    unit, ours, other = legend
    rows = [(row["step"], row["seconds"], row["other"]) for row in _ROW.finditer(page)]
    bottom = 50 + _HEIGHT * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {bottom + 40}" font-family="sans-serif" '
        'font-size="14">',
        f'<rect width="{_WIDTH}" height="{bottom + 40}" fill="#fff"/>',
        *_mark(_NAMES, 22, ours, filled=True),
        *_mark(_NAMES + 150, 22, other, filled=False),
    ]
    for second in (0.1, 1, 10, 100, 1000):
        x = _place(second)
        lines.append(f'<path d="M{x} 40V{bottom}" stroke="#ddd"/>')
        lines.append(f'<text x="{x}" y="{bottom + 20}" text-anchor="middle" fill="#444">{second:g}</text>')
    lines.append(f'<text x="{_NAMES - 50}" y="{bottom + 20}" text-anchor="end" fill="#444">{unit}</text>')
    for number, (step, seconds, others) in enumerate(rows):
        y = 50 + _HEIGHT * number + _HEIGHT // 2
        name = html.escape(step.replace("`", ""))
        lines.append(f'<text x="{_NAMES - 20}" y="{y + 5}" text-anchor="end" fill="#222">{name}</text>')
        if others:
            lines += _mark(_place(_number(others)), y, "", filled=False)
        lines += _mark(_place(_number(seconds)), y, "", filled=True)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _number(text: str) -> float:
    return float(text.replace(",", "."))


def _place(seconds: float) -> int:
    """Return the position of a time on the logarithmic axis, in pixels."""
    return round(_NAMES + _AXIS * (math.log10(seconds) + 1) / 4)


def _mark(x: int, y: int, label: str, *, filled: bool) -> list[str]:
    """Return a mark, with an optional label to its right."""
    fill = "#2457a7" if filled else "#fff"
    mark = f'<circle cx="{x}" cy="{y}" r="6" fill="{fill}" stroke="#2457a7" stroke-width="2"/>'
    return [mark, f'<text x="{x + 14}" y="{y + 5}" fill="#222">{label}</text>'] if label else [mark]


def pages() -> dict[Path, str]:
    """Return the text of each generated file."""
    from mera_ru_tasks.cli import app

    found = list(commands(typer.main.get_command(app)))
    made = {}
    for folder, (opening, header, examples) in TEXTS.items():
        sections = [section(command, context, header, examples) for command, context in found]
        made[HERE / folder / "cli.md"] = "\n\n".join([opening, *sections]) + "\n"
        page = (HERE / folder / "speed.md").read_text(encoding="utf-8")
        made[HERE / folder / "speed.svg"] = speed_picture(page, LEGEND[folder])
    return made


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
