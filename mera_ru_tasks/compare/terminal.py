"""A comparison in the terminal."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Column
from rich.table import Table as RichTable

from mera_ru_tasks.compare.tables import Table
from mera_ru_tasks.textutil import cell, console, say


def show(tables: Iterable[Table]) -> None:
    """Print tables to standard output."""
    terminal = console()
    for table in tables:
        terminal.print(_rich(table))
        for note in table.notes:
            say(note)
        say("")


def _rich(table: Table) -> RichTable:
    columns = [
        Column(cell(name), justify="left" if place < table.texts else "right", overflow="fold")
        for place, name in enumerate(table.columns)
    ]
    shown = RichTable(*columns, title=cell(table.title), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for section in table.sections:
        for row in section:
            shown.add_row(*map(cell, row))
        shown.add_section()
    return shown
