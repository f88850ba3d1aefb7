"""What the leaderboard fixes in a run. Rows of one table are comparable only where nothing but the model differs.

- The tasks `enantiosemy`, `riddles_closed` and `russian_regions` themselves: a prefilled prompt is another prompt, the
  shots are public, and the sample data are ours.
- Zero-shot: the prompts describe the answer's form so that no example is needed, and the tasks' default is no example.
- Greedy generation: a sampled answer differs from run to run, and the best of several would be picked.
- One model under one setting for all tasks: a row of the leaderboard is one system.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark, benchmark_of_task
from mera_ru_tasks.logs.lmeval import TaskLog, differing, setting_of
from mera_ru_tasks.submission.problems import Problem


def why_not(task: str) -> str:
    """Why the leaderboard does not take this task of ours; empty if it does."""
    known = benchmark_of_task(task)
    if known is None:
        return "it is none of these benchmarks"
    benchmark, variants = known
    if "sample" in variants:
        return "it runs the package's own sample data"
    if "shots" in variants:
        return "it runs the public shots, not the test set"
    if "prefill" in variants:
        return "its prompts end in a prefilled `Ответ:`, which the leaderboard's do not"
    return "" if benchmark in LEADERBOARD else "it is for diagnosis, outside the leaderboard"


def check_log(log: TaskLog, benchmark: Benchmark, answered: int) -> Iterator[Problem]:
    """Check what the run's results say of one task: results there, no limit and, for the leaderboard, no shots.

    Args:
        log: the task's log.
        benchmark: what it answers.
        answered: how many documents it holds. lm-eval's own count is of documents with a score, of which a test set
            with closed answers has none.
    """
    if log.run.results_file is None:
        yield Problem(
            log.task, str(log.file), f"its results file, results_{log.run.date}.json, is not beside it",
            "The submission must carry it, and without it the run's settings are unknown: put it back, or run again.",
        )  # fmt: skip
        return
    place = str(log.run.results_file)
    if log.num_fewshot != 0 and benchmark in LEADERBOARD:
        yield Problem(
            log.task, place, f"`n-shot` is {log.num_fewshot!r}, not 0",
            "The leaderboard is zero-shot: run again without --num_fewshot.",
        )  # fmt: skip
    limit = log.run.config.get("limit")
    if limit is not None:
        yield Problem(log.task, place, f"the run had --limit {limit}", "Run again without --limit.", hole=True)
    elif log.size is not None and answered < log.size:
        yield Problem(
            log.task, str(log.file), f"it holds only {answered} of the task's {log.size} documents",
            "Run again without --samples; if the run had none, the log is not whole: copy it again.", hole=True,
        )  # fmt: skip


def sampling(generation: Mapping[str, Any]) -> str:
    """The setting that makes a generation other than greedy, as text; empty if it is greedy."""
    if generation.get("do_sample"):
        return f"do_sample={generation['do_sample']}"
    temperature = generation.get("temperature")
    # An API model obeys the temperature whatever do_sample says.
    return f"temperature={temperature}" if temperature not in (None, 0) else ""


def check_one_setting(logs: Sequence[TaskLog]) -> Iterator[Problem]:
    """Check that all tasks were run with one model under one setting; the first log is what the others must equal."""
    if not logs:
        return
    first, wanted = logs[0], _whose(logs[0])
    for log in logs[1:]:
        setting = _whose(log)
        if names := differing(setting, wanted):
            name = names[0]
            here, there = _brief(setting.get(name)), _brief(wanted.get(name))
            yield Problem(
                log.task, str(log.run.results_file or log.file),
                f"{name} is {here}, but {there} in {first.task} ({first.run.results_file or first.file})",
                "All tasks of a submission need one setting: run one of the two again, or name other logs.",
            )  # fmt: skip


def _whose(log: TaskLog) -> dict[str, Any]:
    return {"the model": log.run.model, **setting_of(log.run)}


def _brief(value: Any) -> str:
    text = "not set" if value is None else repr(value)
    return text if len(text) <= 80 else text[:77] + "…"
