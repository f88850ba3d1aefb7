"""Arguments that several commands have, and what is said of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks.textutil import say

if TYPE_CHECKING:
    from mera_ru_tasks.logs.lmeval import TaskLog

RUN_HELP = "lm-eval's output folder, a model's folder in it, or log files. The newest run of each task is taken."

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN",
        show_default=False,
        help=RUN_HELP,
    ),
]
References = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="The data with the answers, joined by id; default: the answers that the logs hold.",
    ),
]


def say_where_answers_are_from(logs: Sequence[TaskLog], data: Path | None) -> None:
    """Say of which logs the data named are not used."""
    from mera_ru_tasks.logs.rescore import has_shipped_data

    shipped = sorted({log.task for log in logs if has_shipped_data(log)})
    if data is not None and shipped:
        say(f"Note: {', '.join(shipped)}: of the data that the package ships, so --data is not used.")
