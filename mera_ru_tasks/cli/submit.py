"""Define the command `mera-ru submit`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mera_ru_tasks.cli.rescore import RUN_HELP
from mera_ru_tasks.paths import require_new
from mera_ru_tasks.textutil import echo, plural


def submit(
    run: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="RUN",
            show_default=False,
            help=RUN_HELP,
        ),
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The archive to write.")] = Path(
        "submission.zip"
    ),
    model: Annotated[
        str | None, typer.Option(metavar="NAME", help="The model to submit, if RUN contains several.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            envvar="MERA_RU_DATA",
            help="The data folder against which ids and questions are checked. By default, the local copy of the hub "
            "dataset is used.",
        ),
    ] = None,
    task: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TASK",
            show_default=False,
            help="Pack this custom task instead of the leaderboard's tasks. Repeat the option for several tasks.",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Pack the archive even if tasks or responses are missing.")
    ] = False,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Copy the other tasks from this archive, which any tool may have created.",
        ),
    ] = None,
    check: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Check this archive, which any tool may have created, instead of packing a new one."
        ),
    ] = None,
) -> None:
    """Pack a leaderboard submission, or check one.

    The run must contain the tasks enantiosemy, riddles_closed and russian_regions. It must be zero-shot and greedy, and
    use --log_samples and --output_path. Everything is checked before the archive is written.

    \b
    Examples:
      lm_eval --model hf --model_args pretrained=MODEL --tasks mera_ru --apply_chat_template \\
          --predict_only --log_samples --output_path results
      mera-ru submit results -o submission.zip
      mera-ru submit --check submission.zip
      mera-ru submit results --into others.zip -o full.zip
      mera-ru submit results --task city_quiz -o city_quiz.zip
    """  # noqa: D301 (\b tells click not to rewrap the block)
    if check is not None:
        if run or into:
            raise typer.BadParameter("this option cannot be combined with RUN or --into", param_hint="--check")
        _check(check, data, task or [])
        return
    if not run:
        raise typer.BadParameter("pass lm-eval's output folder, or check an archive with --check", param_hint="RUN")
    _pack(run, output, model, data, task or [], partial, into)


def _pack(
    run: Sequence[Path],
    output: Path,
    model: str | None,
    data: Path | None,
    tasks: Sequence[str],
    partial: bool,
    into: Path | None,
) -> None:
    from mera_ru_tasks.issues import shortened
    from mera_ru_tasks.logs.find import find_logs
    from mera_ru_tasks.paths import open_regular
    from mera_ru_tasks.submission import check, pack
    from mera_ru_tasks.submission.rules import INCOMPLETE_CODES

    if into is not None:  # before the list of missing tasks
        with open_regular(into) as stream:
            check.open_archive(stream, str(into))
    draft = pack.prepare(find_logs(run), model=model, data=data, tasks=tasks)
    require_new(output)
    for part in draft.answers:
        responses = _count(len(part.samples), "response")
        echo(f"{part.benchmark.title}: {responses} of {part.log.run.model!r} from {part.log.file}")
    for issue in sorted(shortened(draft.issues), key=lambda issue: issue.severity == "error"):
        echo(f"{'Missing' if issue.code in INCOMPLETE_CODES else issue.severity.capitalize()}: {issue}")
    stopping = draft.stopped_by(partial)
    if stopping:
        is_incomplete = all(issue.code in INCOMPLETE_CODES for issue in stopping) and draft.answers
        way_out = " To pack the available responses anyway, add --partial." if is_incomplete else ""
        echo(f"\nNothing was written: {_count(len(stopping), 'error')}.{way_out}")
        raise typer.Exit(1)
    archive, issues = pack.build_into(into, draft.answers) if into else (pack.build(draft.answers), [])
    for issue in issues:
        echo(f"{issue.severity.capitalize()}: {issue}")
    pack.write(archive, output)
    echo(f"\nWrote {output}.")
    if draft.stopped_by(partial=False):
        echo("The archive is incomplete (see above). Complete it first: the leaderboard rejects incomplete archives.")
        return
    if into is None and not tasks:
        echo("MERA Text 2.0 has twelve tasks. To add these tasks to an archive of the others, use --into FILE.")
    if tasks and into is None:
        echo("The archive has the leaderboard's format. Send it to whoever has the reference answers of your dataset.")
        return
    echo(
        f"Next, sign in at https://mera.a-ai.ru, start a submission, describe the model and upload {output}. To check "
        f"the file again as the leaderboard's scorer does, run `mera-ru submit --check {output}`."
    )


def _check(file: Path, data: Path | None, tasks: Sequence[str]) -> None:
    from mera_ru_tasks.issues import errors, shortened
    from mera_ru_tasks.submission.check import check_archive
    from mera_ru_tasks.submission.rules import name_ids

    checked = check_archive(file, data, tasks)
    for name, responses in checked.responses.items():
        empty = [identity for identity, response in responses.items() if not response.strip()]
        found = _count(len(responses), "response")
        echo(f"{name}: {found}" + (f", {len(empty)} empty ({name_ids(empty)})" if empty else ""))
    for issue in sorted(shortened(checked.issues), key=lambda issue: issue.severity == "error"):
        echo(f"{issue.severity.capitalize()}: {issue}")
    if stopping := errors(checked.issues):
        echo(f"\n{file} is not ready for submission: {_count(len(stopping), 'error')}.")
        raise typer.Exit(1)
    echo(f"\n{file} is ready for submission.")


def _count(number: int, what: str) -> str:
    return f"{number} {plural(number, what, f'{what}s')}"
