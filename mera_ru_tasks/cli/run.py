"""`mera-ru run`: lm-eval's own command line, without its scan of all other tasks."""

from __future__ import annotations

from typing import Annotated

import typer

# lm-eval parses everything after `run`, `--help` too.
SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def run(
    context: typer.Context,
    no_log_samples: Annotated[
        bool, typer.Option("--no-log-samples", help="Do not keep the responses although --output_path is given.")
    ] = False,
) -> None:
    """Run lm-eval on these tasks: `lm_eval run` with a quicker start, because it skips lm-eval's other tasks.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru_sample
    """  # noqa: D301 (\b is click's mark for a block that is not rewrapped)
    from mera_ru_tasks.harness import run

    if {"-h", "--help"} & set(context.args) or not context.args:
        print(run.DIFFERENCE, end="\n\n", flush=True)
    run.run(context.args, keep_samples=not no_log_samples)
