"""What a submission of some logs would hold, with every problem and what the user should know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mera_ru_tasks.logs.lmeval import TaskLog, as_mapping
from mera_ru_tasks.submission import rules
from mera_ru_tasks.submission.collect import Answers, benchmarks_of, choose, missing_tasks, read_answers
from mera_ru_tasks.submission.expected import Expected, check_ids, check_questions, expected_rows, unchecked_ids
from mera_ru_tasks.submission.pack import secrets_in
from mera_ru_tasks.submission.problems import Problem, name_ids


@dataclass(frozen=True)
class Draft:
    """A submission before it is written.

    Attributes:
        answers: the tasks' responses, in the leaderboard's order.
        problems: everything that is wrong or missing.
        notes: what is no problem but should be known.
    """

    answers: Sequence[Answers]
    problems: Sequence[Problem]
    notes: Sequence[str]

    def stopped_by(self, partial: bool) -> list[Problem]:
        """The problems that keep it from being written; with `partial`, holes do not, unless nothing is left."""
        if partial and self.answers:
            return [problem for problem in self.problems if not problem.hole]
        return list(self.problems)


def prepare(
    logs: Sequence[TaskLog], *, model: str | None = None, data: Path | None = None, tasks: Sequence[str] = ()
) -> Draft:
    """Choose among the logs, read the responses and check them.

    Args:
        logs: what was found (see `runs.find_logs`).
        model: the model to take, where there are several.
        data: a folder with the data, to check ids and questions against.
        tasks: tasks on users' own datasets, to be packed in place of the leaderboard's.

    Raises:
        RunError: a log is broken, or the choice of a model is open.
        DataError: the data are missing or wrong.
    """
    benchmarks = benchmarks_of(logs, tasks)
    chosen = choose(logs, benchmarks, model)
    problems = list(missing_tasks(logs, benchmarks, chosen))
    answers: list[Answers] = []
    unchecked: list[Expected] = []
    for benchmark in benchmarks:
        if benchmark.name not in chosen:
            continue
        log = chosen[benchmark.name]
        read, found = read_answers(benchmark, log)
        expected = expected_rows(benchmark, data)
        docs = {identity: sample.doc for identity, sample in read.samples.items()}
        problems += rules.check_log(log, benchmark, len(read.samples))
        problems += found
        problems += check_ids(docs.keys(), expected, log.task, str(log.file))
        problems += check_questions(docs, expected, log.task, str(log.file))
        answers.append(read)
        if expected.rows is None:
            unchecked.append(expected)
    problems += rules.check_one_setting([part.log for part in answers])
    return Draft(answers, problems, [*_notes_on_choice(logs, chosen), *_notes_on_answers(answers, unchecked)])


def _notes_on_choice(logs: Sequence[TaskLog], chosen: Mapping[str, TaskLog]) -> Iterator[str]:
    taken = list(chosen.values())
    older = [log.task for log in taken if sum(o.task == log.task and o.run.model == log.run.model for o in logs) > 1]
    if older:
        yield f"{', '.join(older)}: the newest run is taken, older ones are left out; to take one, name its log files."
    for task in sorted({log.task for log in logs} - {log.task for log in taken}):
        if reason := rules.why_not(task):
            yield f"{task}: left out, since {reason}."
    for run in {log.run.results_file: log.run for log in taken}.values():
        if changed := run.config.get("gen_kwargs"):
            text = ", ".join(f"{name}={value}" for name, value in as_mapping(changed).items()) or str(changed)
            yield f"the run had --gen_kwargs {text}: see that it cuts no answer, as a small max_gen_toks would."
        if secrets_in(run.results):
            yield f"{run.results_file} holds a key or a password of the model's arguments; the packed copy says HIDDEN."


def _notes_on_answers(answers: Sequence[Answers], unchecked: Sequence[Expected]) -> Iterator[str]:
    for part in answers:
        if empty := part.empty:
            yield (
                f"{part.benchmark.title}: {len(empty)} of {len(part.samples)} responses are empty ({name_ids(empty)}), "
                "which score 0. Many of them point at a stop string, a too small max_gen_toks or an API that failed."
            )
    if referenced := [part.benchmark.title for part in answers if part.referenced]:
        yield f"{', '.join(referenced)}: the logs hold reference answers, which become public with the submission."
    if unchecked:
        yield unchecked_ids(unchecked)
