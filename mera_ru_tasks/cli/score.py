"""`mera-ru score`."""

from __future__ import annotations

import typer

from mera_ru_tasks.cli.arguments import References, Runs, note_unused_data, read_usable_responses
from mera_ru_tasks.textutil import say


def score(run: Runs, data: References = None) -> None:
    """Score logged responses again, without the model and without a judge.

    Use this if reference answers arrived after the run, or for logs from an earlier release. The run must have kept its
    responses (--log_samples). Writes scored_TASK_DATE.jsonl and scored_results_DATE.json next to the logs.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru --apply_chat_template \\
          --output_path results
      mera-ru score results --data DIR
    """  # noqa: D301 (\b, for the help's layout, is the control character)
    from mera_ru_tasks.issues import DataError
    from mera_ru_tasks.logs import rescore, sidecar

    logs = rescore.our_logs(run, say)
    sidecar.require_writable(logs)
    note_unused_data(logs, data)
    responses, complete = read_usable_responses(logs)
    rescored = [rescore.score_log(one, data) for one in responses]
    closed = {item.log.task: sum(not row.scores for row in item.rows) // 2 for item in rescored}
    if not any(row.scores for item in rescored for row in item.rows):
        raise DataError(
            "None of the documents has a reference answer, so there is nothing to score. Name data with "
            "answers: --data DIR."
        )
    files = sidecar.write(rescored, "scored", {}, say)
    say(sidecar.table(rescored))
    for task, number in closed.items():
        if number:
            say(
                f"{task}: {number} documents have no reference answer, so they get no score. Name data with answers: "
                "--data DIR."
            )
    say("\n".join(f"Wrote {file}" for file in files))
    if not complete:
        raise typer.Exit(1)
