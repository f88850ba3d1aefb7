"""A comparison in the terminal."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Column
from rich.table import Table as RichTable
from rich.text import Text

from mera_ru_tasks.cli.output import printable
from mera_ru_tasks.comparison.comparing import Comparison
from mera_ru_tasks.comparison.tables import Table, tables

# A pipe has no width; so wide, no cell of an ordinary comparison is folded.
_PIPE_WIDTH = 200


def show(comparison: Comparison) -> None:
    """Print all tables to standard output."""
    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _PIPE_WIDTH
    for table in tables(comparison):
        console.print(_rich(table))
        for note in table.notes:
            console.print(Text(printable(note), style="dim"))
        console.print()


def _rich(table: Table) -> RichTable:
    columns = [
        Column(Text(printable(name)), justify="left" if place < table.texts else "right", overflow="fold")
        for place, name in enumerate(table.columns)
    ]
    shown = RichTable(
        *columns, title=Text(printable(table.title)), title_justify="left", title_style="bold", box=box.SIMPLE_HEAD
    )
    for section in table.sections:
        for row in section:
            shown.add_row(*(Text(printable(cell)) for cell in row))
        shown.add_section()
    return shown
