"""Choosing the logs of a submission and reading the responses in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from mera_ru_tasks.data.benchmarks import LEADERBOARD, Benchmark, benchmark_of_task
from mera_ru_tasks.data.custom import of_config
from mera_ru_tasks.data.schema import row_id
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.logs.lmeval import Sample, TaskLog, newest
from mera_ru_tasks.scoring.metrics import STRICT
from mera_ru_tasks.submission import rules
from mera_ru_tasks.submission.problems import Problem, name_ids


@dataclass(frozen=True)
class Answers:
    """The responses of one task.

    Attributes:
        benchmark: which one.
        log: where they come from.
        samples: the sample of each document, by its `meta.id`.
    """

    benchmark: Benchmark
    log: TaskLog
    samples: Mapping[int, Sample]

    @property
    def empty(self) -> list[int]:
        """The ids with an empty response."""
        return [identity for identity, sample in self.samples.items() if not sample.response.strip()]

    @property
    def referenced(self) -> bool:
        """Whether the log holds reference answers."""
        return any(str(sample.doc.get("outputs") or "").strip() for sample in self.samples.values())


def benchmarks_of(logs: Sequence[TaskLog], tasks: Sequence[str]) -> Sequence[Benchmark]:
    """What a submission answers: the datasets of the tasks named, which are users' own, else the leaderboard's.

    Raises:
        RunError: there is no log of a task, or it is no task on a user's own dataset.
    """
    return [_own(logs, task) for task in tasks] or LEADERBOARD


def _own(logs: Sequence[TaskLog], task: str) -> Benchmark:
    found = [log for log in newest(logs) if log.task == task]
    if not found:
        names = ", ".join(sorted({log.task for log in logs}))
        raise RunError(f"There is no log of the task {task!r}. There are logs of: {names}.")
    benchmark = of_config(task, found[0].config)
    if benchmark is None:
        place = found[0].run.results_file or f"results_{found[0].run.date}.json, which is not beside {found[0].file},"
        raise RunError(
            f"{place} does not say that {task!r} is a task on your own dataset. --task names such tasks alone; without "
            "it the leaderboard's are packed."
        )
    return benchmark


def choose(
    logs: Sequence[TaskLog], benchmarks: Sequence[Benchmark] = LEADERBOARD, model: str | None = None
) -> dict[str, TaskLog]:
    """Choose the newest log of the task of each benchmark.

    Args:
        logs: what was found.
        benchmarks: what is submitted.
        model: the model whose logs to take; needed only where there are several.

    Returns:
        By the benchmark's name, which is the task's; a benchmark without a log is absent.

    Raises:
        RunError: the model is not among the logs, or there are several and none was named.
    """
    names = {benchmark.name for benchmark in benchmarks}
    usable = [log for log in logs if log.task in names]
    models = sorted({log.run.model for log in usable})
    if model is not None and models and model not in models:
        raise RunError(f"No log of the model {model!r} is there. There are logs of: {', '.join(map(repr, models))}.")
    if model is None and len(models) > 1:
        raise RunError(
            f"The logs are of several models: {', '.join(map(repr, models))}. A submission is of one: name it with "
            "--model, or name its folder only."
        )
    return {log.task: log for log in newest(log for log in usable if model is None or log.run.model == model)}


def missing_tasks(
    logs: Sequence[TaskLog], benchmarks: Sequence[Benchmark], chosen: Mapping[str, TaskLog]
) -> Iterator[Problem]:
    """A problem for each benchmark without a log, with what there is instead."""
    for benchmark in benchmarks:
        if benchmark.name in chosen:
            continue
        others = {log.task for log in logs if (known := benchmark_of_task(log.task)) and known[0] is benchmark}
        refused = "; ".join(
            f"the log of `{task}` cannot stand for it: {rules.why_not(task)}" for task in sorted(others)
        )
        what = "there is no log of this task" + (f" ({refused})" if refused else "")
        remedy = f"Run lm-eval with `--tasks {benchmark.name} --log_samples --output_path DIR` and name DIR too."
        yield Problem(benchmark.name, f"{benchmark.title}.json", what, remedy, hole=True)


def read_answers(benchmark: Benchmark, log: TaskLog) -> tuple[Answers, list[Problem]]:
    """Read the responses of one task, and check each line.

    Only the rows of one pipeline count: the others repeat the same responses.
    """
    samples: dict[int, Sample] = {}
    problems: list[Problem] = []
    sampled: list[tuple[int, str]] = []
    for sample in log.samples(STRICT):
        identity = row_id(sample.doc)
        if identity is None:
            what = "the document has no integer `meta.id`"
            problems.append(Problem(log.task, sample.location, what, "Run the task on MERA's own data."))
            continue
        if identity in samples:
            what = f"id {identity} stands already in {samples[identity].location}"
            remedy = "Each id may stand once: name the log of one run, as lm-eval wrote it."
            problems.append(Problem(log.task, sample.location, what, remedy))
            continue
        if benchmark in LEADERBOARD and (setting := rules.sampling(sample.generation)):
            sampled.append((identity, setting))
        if not _is_text(sample.response):
            what = f"the response to id {identity} holds half a character (a lone surrogate), so it is no text"
            problems.append(Problem(log.task, sample.location, what, "Run again, or mend this response in the log."))
        samples[identity] = sample
    if not samples:
        what = f"it has no row of the pipeline `{STRICT}`"
        problems.append(Problem(log.task, str(log.file), what, "Run the task as this package defines it."))
    if sampled:
        ids = name_ids(identity for identity, _ in sampled)
        remedy = "The leaderboard's answers are greedy: run again without do_sample and temperature in --gen_kwargs."
        problems.append(Problem(log.task, str(log.file), f"sampled, not greedy ({sampled[0][1]}): {ids}", remedy))
    return Answers(benchmark, log, samples), problems


def _is_text(response: str) -> bool:
    try:
        response.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
