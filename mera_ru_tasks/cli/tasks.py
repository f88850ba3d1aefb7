"""Define the commands `mera-ru run`, `tasks`, `path` and `doctor`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mera_ru_tasks import __version__
from mera_ru_tasks.harness.patches import is_autoload_off
from mera_ru_tasks.issues import DataError, Issue, JudgeError
from mera_ru_tasks.paths import task_files, yaml_folder
from mera_ru_tasks.textutil import cell, console, echo

if TYPE_CHECKING:
    from mera_ru_tasks.data.load import Source


def path() -> None:
    """Print the path of the folder with the task YAML files.

    After a normal installation you do not need it, because lm-eval finds the tasks automatically.

    \b
    Example:
      lm_eval --include_path "$(mera-ru path)" --model hf --model_args pretrained=MODEL --tasks mera_ru
    """  # noqa: D301 (\b is click's mark for a block that is not rewrapped)
    print(yaml_folder())


def tasks() -> None:
    """List the tasks with their data source and number of documents.

    As in a run, the data come from MERA_RU_DATA if it is set, otherwise from the hub. Nothing is downloaded.

    \b
    Example:
      MERA_RU_DATA=~/mera-data mera-ru tasks
    """  # noqa: D301
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("task", no_wrap=True)
    table.add_column("data", overflow="fold")
    table.add_column("documents", justify="right")
    for name, file in sorted(task_files().items()):
        data, documents = _describe(name, file)
        table.add_row(*map(cell, (name, data, documents)))
    console().print(table)


def _describe(name: str, file: Path) -> tuple[str, str]:
    """Return the data source and the number of documents of a task, or the task names of a group."""
    from mera_ru_tasks.data.benchmarks import scored_split
    from mera_ru_tasks.data.load import find_source_by_name
    from mera_ru_tasks.paths import read_task_file

    settings = read_task_file(file)
    if "group" in settings:
        return f"group of {', '.join(settings['task'])}", ""
    try:
        source, variants = find_source_by_name(name)
        return _data(source, scored_split(variants))
    except DataError as error:
        return str(error).partition(". ")[0], "–"


def _data(source: Source, split: str) -> tuple[str, str]:
    """Return the name of a data source and its number of rows in a split, without network access."""
    if source.folder is not None:
        rows = source.read()[0].get(split)
        return "part of the package" if source.is_shipped else str(source.folder), str(len(rows[1])) if rows else "–"
    if source.benchmark.hub is None:
        return "not on the hub; set MERA_RU_DATA", "–"
    cached = source.read_hub_cache()
    if cached and split in cached[0]:
        return f"hub: {source.location}, downloaded", str(len(cached[0][split][1]))
    by_card = sum(source.benchmark.test_size.values()) if split == "test" else 0
    return f"hub: {source.location}, not downloaded yet", str(by_card or "?")


# --- doctor ----------------------------------------------------------------------------------------------------------

# The purpose of each package, and the extra to install for it.
_PACKAGES = {
    "lm-eval": "runs",
    "datasets": "data",
    "transformers": "local models; install mera-ru-tasks[hf]",
    "torch": "local models; install mera-ru-tasks[hf]",
    "tenacity": "models on a server; install mera-ru-tasks[api]",
    "openai": "the LLM judge; install mera-ru-tasks[judge]",
    "matplotlib": "plots; install mera-ru-tasks[report]",
}


def doctor() -> None:
    """Check the installation and the settings: versions, start-up hook, data, judge and caches.

    Nothing is downloaded, and no server is contacted. If there is something to fix, the exit status is 1.

    \b
    Example:
      mera-ru doctor
    """  # noqa: D301
    issues = []
    for title, lines in (
        ("Versions", _versions()),
        ("Tasks in lm-eval", _hook()),
        ("Data", _sources()),
        ("Judge", _judge()),
    ):
        echo(f"{title}:")
        for line in lines:
            if isinstance(line, Issue):
                issues.append(line)
            echo(f"  {'to fix: ' if isinstance(line, Issue) else ''}{line}")
    if issues:
        raise typer.Exit(1)


def _versions() -> Iterator[str | Issue]:
    yield f"Python {sys.version.split()[0]}, mera-ru-tasks {__version__}"
    for package, purpose in _PACKAGES.items():
        try:
            yield f"{package} {version(package)}"
        except PackageNotFoundError:
            yield f"{package}: not installed (needed for {purpose})"


def _hook() -> Iterator[str | Issue]:
    off = is_autoload_off()
    if any(type(finder).__name__ == "MeraRuTasksFinder" for finder in sys.meta_path) and not off:
        yield "`lm_eval` finds the tasks automatically"
        return
    why = "MERA_RU_NO_AUTOLOAD is set" if off else "the start-up hook mera_ru_tasks_autoload.pth did not run"
    yield Issue(
        "no-hook",
        "error",
        "",
        f"`lm_eval` cannot find the tasks because {why}",
        'Install the package with pip in this environment, add `--include_path "$(mera-ru path)"`, or use '
        "`mera-ru run`. In Python, write `import mera_ru_tasks`.",
    )


def _sources() -> Iterator[str | Issue]:
    from mera_ru_tasks.data.benchmarks import BENCHMARKS, LEADERBOARD
    from mera_ru_tasks.data.load import find_source

    named = os.environ.get("MERA_RU_DATA")
    yield f"MERA_RU_DATA is {named}" if named else "MERA_RU_DATA is not set, so the data come from the hub"
    for benchmark in BENCHMARKS.values():
        try:
            origin, rows = _data(find_source(benchmark), "test")
            yield f"{benchmark.name}: {origin}; documents: {rows}"
        except DataError as error:
            if named and benchmark in LEADERBOARD:
                hint = f"To check every row, run `mera-ru data check {named}`."
                yield Issue("data", "error", benchmark.name, str(error).removesuffix("."), hint)
            else:
                yield f"{benchmark.name}: {str(error).partition('. ')[0]}"


def _judge() -> Iterator[str | Issue]:
    from mera_ru_tasks.judge import config

    try:
        settings = config.from_environment()
    except JudgeError as error:
        yield Issue("judge", "error", "", str(error).removesuffix("."))
        return
    if settings is None:
        yield "not configured"
        return
    yield f"{settings.name} at {settings.address}; each run begins with a test question"
    size = f"{settings.cache.stat().st_size:,} bytes" if settings.cache.is_file() else "not created yet"
    yield f"verdict cache: {settings.cache}, {size}"
    existing = next(folder for folder in settings.cache.absolute().parents if folder.exists())
    if not os.access(settings.cache if settings.cache.is_file() else existing, os.W_OK):
        yield Issue(
            "cache", "error", str(settings.cache), "no write permission", f"Set {config.CACHE} to another file."
        )


# lm-eval parses everything after `run`, including `--help`.
RUN_SETTINGS = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}


def run(
    context: typer.Context,
    no_log_samples: Annotated[
        bool, typer.Option("--no-log-samples", help="Do not log the responses, even if --output_path is set.")
    ] = False,
) -> None:
    """Run lm-eval on the tasks of this package.

    The command takes the options of `lm_eval run`. It starts faster because it does not load lm-eval's own tasks.

    \b
    Example:
      mera-ru run --model hf --model_args pretrained=MODEL --tasks mera_ru_sample
    """  # noqa: D301 (\b is click's mark for a block that is not rewrapped)
    from mera_ru_tasks.harness import run

    if {"-h", "--help"} & set(context.args) or not context.args:
        print(run.DIFFERENCE, end="\n\n", flush=True)
    run.run(context.args, keep_samples=not no_log_samples)
