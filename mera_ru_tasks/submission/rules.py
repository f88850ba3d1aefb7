"""Define the required contents and run settings of a submission.

Rows of the leaderboard are comparable only if they differ in nothing but the model:

- A submission contains the tasks `enantiosemy`, `riddles_closed` and `russian_regions`. Their variants are not
  accepted: prefilled prompts are different prompts, the shots are public, and the sample data belong to this package.
- Runs are zero-shot. The prompts describe the answer format, so no examples are needed.
- Generation is greedy. Sampled responses differ from run to run, so the best of several runs could be submitted.
- All tasks use the same model and settings, because a row of the leaderboard describes one model.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark, benchmark_of_task
from mera_ru_tasks.data.load import load_local_rows
from mera_ru_tasks.data.schema import question_of
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.logs.find import TaskLog
from mera_ru_tasks.logs.setting import differing, setting_of
from mera_ru_tasks.paths import expanded
from mera_ru_tasks.secrets import secrets_in, without

# The archive entry with the logs.
LOGS = "logs_public.zip"

# The tasks of MERA Text 2.0 and their numbers of test rows. Each task's file in the archive has the task's name.
_OTHER_SIZES = {
    "Characters": 640, "GorillaHard": 1169, "Humor": 600, "IFHardBench": 1260, "LIMUR": 423, "NewReasoning": 370,
    "RUBIN": 783, "SAGE": 1000, "SOB-Hard": 825,
}  # fmt: skip
SIZES = dict(sorted((_OTHER_SIZES | {one.title: sum(one.test_size.values()) for one in LEADERBOARD}).items()))

# The codes of issues about missing tasks and responses. With --partial, the rest can be packed.
INCOMPLETE_CODES = frozenset(
    {"missing-task", "missing-entry", "missing-ids", "other-size", "limited-run", "missing-lines", "missing-documents"}
)


def is_log_of(task: str, benchmark: Benchmark) -> bool:
    """Return True if a log's task belongs to this benchmark, by this package's name or MERA's name (`riddles`)."""
    return task.lower() in benchmark.folders


def task_error(code: str, task: str, location: object, message: str, hint: str) -> Issue:
    """Return an error that concerns one task of a submission."""
    return Issue(code, "error", f"{task}: {location}", message, hint)


def why_not(task: str) -> str:
    """Return the reason why the leaderboard does not accept a task, or an empty string if it does."""
    known = benchmark_of_task(task)
    if known is None:
        return "it does not belong to these benchmarks"
    benchmark, variants = known
    if "rank" in variants:
        return "it ranks options and has no responses"
    if "sample" in variants:
        return "it uses the package's sample data"
    if "shots" in variants:
        return "it uses the public shots instead of the test set"
    if "prefill" in variants:
        return "its prompts end with a prefilled `Ответ:`, unlike those of the leaderboard"
    return "" if benchmark in LEADERBOARD else "it is a diagnostic task outside the leaderboard"


def check_log(log: TaskLog, benchmark: Benchmark, answered: int) -> Iterator[Issue]:
    """Check that a task's run has a results file and no limit and, for the leaderboard, no shots.

    Args:
        log: the task's log.
        benchmark: the benchmark of the task.
        answered: the number of documents in the log. The results file does not contain this number, because lm-eval
            counts only scored documents, and a test set without public answers has none.
    """
    if log.run.results_file is None:
        yield task_error(
            "missing-results", log.task, log.file,
            f"the results file {log.run.results_name} is not in the same folder",
            "The submission needs the settings in this file. Restore it, or rerun the evaluation.",
        )  # fmt: skip
        return
    location = str(log.run.results_file)
    if log.num_fewshot != 0 and benchmark in LEADERBOARD:
        yield task_error(
            "few-shot", log.task, location, f"`n-shot` is {log.num_fewshot!r}, not 0",
            "The leaderboard is zero-shot. Rerun without --num_fewshot.",
        )  # fmt: skip
    limit = log.run.config.get("limit")
    if limit is not None:
        yield task_error("limited-run", log.task, location, f"the run used --limit {limit}", "Rerun without --limit.")
    elif log.size is not None and answered < log.size:
        yield task_error(
            "limited-run", log.task, log.file, f"it contains only {answered} of the task's {log.size} documents",
            "If the run used --samples, rerun without it. Otherwise, the log is incomplete; copy it again.",
        )  # fmt: skip


def sampling(generation: Mapping[str, Any]) -> str:
    """Return the setting that enables sampling, such as `temperature=1`, or an empty string for greedy generation."""
    if generation.get("do_sample"):
        return f"do_sample={generation['do_sample']}"
    temperature = generation.get("temperature")
    # API models use the temperature whatever the value of do_sample.
    return f"temperature={temperature}" if temperature not in (None, 0) else ""


def check_one_setting(logs: Sequence[TaskLog]) -> Iterator[Issue]:
    """Check that all tasks used the same model and settings."""
    if not logs:
        return
    first, wanted = logs[0], _model_and_settings(logs[0])
    for log in logs[1:]:
        setting = _model_and_settings(log)
        if names := differing(setting, wanted):
            name = names[0]
            here, there = _brief(setting.get(name)), _brief(wanted.get(name))
            yield task_error(
                "other-setting", log.task, log.run.results_file or log.file,
                f"{name} is {here}, but {there} in {first.task} ({first.run.results_file or first.file})",
                "All tasks of a submission need the same settings. Rerun one of the two tasks, or pass other logs.",
            )  # fmt: skip


def _model_and_settings(log: TaskLog) -> dict[str, Any]:
    return {"the model": log.run.model, **setting_of(log.run)}


def _brief(value: Any) -> str:
    text = "not set" if value is None else repr(without(value, secrets_in(value)))
    return text if len(text) <= 80 else text[:77] + "…"


@dataclass(frozen=True)
class Expected:
    """The test rows of a benchmark.

    Attributes:
        benchmark: the benchmark.
        location: the file or hub split that contains the rows, or an empty string if no data were found.
        rows: the rows by `meta.id`, or None if no data were found.
    """

    benchmark: Benchmark
    location: str = ""
    rows: Mapping[int, Mapping[str, Any]] | None = None

    @property
    def size(self) -> int | None:
        """Return the number of test rows in the data card, or None for a custom dataset, which has no card."""
        is_custom = self.benchmark not in LEADERBOARD and bool(self.benchmark.formats)
        return None if is_custom else SIZES.get(self.benchmark.title)


def expected_rows(benchmark: Benchmark, data: Path | None = None) -> Expected:
    """Find the test rows in `data`, in MERA_RU_DATA or in the cache of `datasets`. Nothing is downloaded.

    For a custom dataset, use the folder in the task's settings if that folder exists on this machine.

    Raises:
        DataError: the data in a local folder are missing or invalid.
    """
    if benchmark.path and not expanded(benchmark.path).is_dir():
        benchmark = replace(benchmark, path=None)
    splits = load_local_rows(benchmark, data=data)
    if not splits or "test" not in splits:
        return Expected(benchmark)
    location, rows = splits["test"]
    return Expected(benchmark, location, {row["meta"]["id"]: row for row in rows})


def note_unchecked(unchecked: Sequence[Expected]) -> Issue:
    """Return a note about benchmarks whose data were not found."""
    names = ", ".join(expected.benchmark.title for expected in unchecked)
    counted = "only counted" if unchecked[0].size is not None else "not checked"
    hint = "To check each id, pass the data with --data DIR or set MERA_RU_DATA."
    return Issue("ids-unchecked", "note", names, f"no data were found, so ids were {counted}", hint)


def check_ids(ids: Collection[int], expected: Expected, task: str, location: str) -> Iterator[Issue]:
    """Check that the ids are exactly those of the test rows."""
    if expected.rows is None:
        if expected.size is not None and len(ids) != expected.size:
            yield task_error(
                "missing-ids" if len(ids) < expected.size else "foreign-ids", task, location,
                f"it contains {len(ids)} responses, but {expected.benchmark.title} has {expected.size} test rows",
                "Rerun the whole test set without --limit and --samples.",
            )  # fmt: skip
        return
    if missing := expected.rows.keys() - ids:
        yield task_error(
            "missing-ids", task, location,
            f"responses are missing for {len(missing)} of the {len(expected.rows)} rows in {expected.location}: "
            f"{name_ids(missing)}", "Rerun the whole test set without --limit and --samples.",
        )  # fmt: skip
    if foreign := set(ids) - expected.rows.keys():
        yield task_error(
            "foreign-ids", task, location, f"{expected.location} does not contain {name_ids(foreign)}",
            "Run the test set that you submit, or pass the data of the run with --data.",
        )  # fmt: skip
    if expected.size is not None and len(expected.rows) != expected.size:
        yield task_error(
            "other-size", task, expected.location, f"it has {len(expected.rows)} rows, but the data card of "
            f"{expected.benchmark.title} says {expected.size}", "Pass the whole test set with --data or MERA_RU_DATA.",
        )  # fmt: skip


def check_questions(
    docs: Mapping[int, Mapping[str, Any]], expected: Expected, task: str, location: str
) -> Iterator[Issue]:
    """Check that the instructions and inputs of the run's documents equal those of the expected rows."""
    rows = expected.rows or {}
    other = [
        identity
        for identity, doc in docs.items()
        if identity in rows and question_of(doc) != question_of(rows[identity])
    ]
    if other:
        yield task_error(
            "other-questions", task, location,
            f"the instruction or inputs differ from those in {expected.location} for {name_ids(other)}",
            "Rerun on these data, or pass the data of the run with --data.",
        )  # fmt: skip


def name_ids(ids: Iterable[int], most: int = 10) -> str:
    """List ids and ranges of ids, at most `most` of both, for example `ids 1 to 5, 9, 12 and 3 more`."""
    ranges: list[list[int]] = []
    for number in sorted(ids):
        if ranges and ranges[-1][1] + 1 == number:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    parts = [str(first) if first == last else f"{first} to {last}" for first, last in ranges[:most]]
    left = sum(last - first + 1 for first, last in ranges[most:])
    single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"id{'' if single else 's'} {', '.join(parts)}" + (f" and {left} more" if left else "")
