"""Arguments that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Runs = Annotated[
    list[Path],
    typer.Argument(
        metavar="RUN…",
        show_default=False,
        help="lm-eval's output folder, a model's folder in it, or log files. The newest run of each task is taken.",
    ),
]
References = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="The data with the answers, joined by id; default: the answers that the logs hold.",
    ),
]
