"""`mera-ru run`: lm-eval's own command line, without its scan of all other tasks."""

from __future__ import annotations

import typer

# All that stands behind `run` is lm-eval's, `--help` too.
SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def run(context: typer.Context) -> None:
    """Run lm-eval on these tasks, quicker to start: `lm_eval run` without its other tasks.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru_sample
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.harness import run

    if {"-h", "--help"} & set(context.args) or not context.args:
        print(run.DIFFERENCE, end="\n\n", flush=True)
    run.run(context.args)
