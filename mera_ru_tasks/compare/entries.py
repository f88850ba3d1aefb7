"""Reading runs: each model's answers to each task, with what is wrong with them said and never counted as a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mera_ru_tasks.compare.answers import Answer, Measure, read_answers
from mera_ru_tasks.compare.notes import Remark, merged, remark
from mera_ru_tasks.compare.rescored import add_rescored, judges_of
from mera_ru_tasks.compare.select import choose
from mera_ru_tasks.data.benchmarks import Benchmark, benchmark_of_task
from mera_ru_tasks.errors import RunError
from mera_ru_tasks.logs.lmeval import TaskLog, as_mapping
from mera_ru_tasks.scoring.metrics import METRICS

PREFILLED = "prefilled"


@dataclass(frozen=True)
class Entry:
    """One model on one task.

    Attributes:
        model: its label in the comparison.
        task: the task's name there; without `prefill` where settings are compared across.
        log: where the answers are from.
        benchmark: the task's benchmark; None for a user's own dataset.
        answers: by lm-eval's hash of the document.
        size: how many documents the task has, as far as the run tells.
        judges: by pipeline, who gave its judge scores (see `judge.facts.identity`); None where that is not known.
    """

    model: str
    task: str
    log: TaskLog
    benchmark: Benchmark | None
    answers: Mapping[str, Answer]
    size: int
    judges: Mapping[str, Mapping[str, Any] | None]

    @property
    def prefilled(self) -> bool:
        """Whether the prompts end in the marker."""
        known = benchmark_of_task(self.log.task)
        return "prefill" in known[1] if known else bool(self.log.config.get("gen_prefix"))

    @cached_property
    def type_field(self) -> str | None:
        """The `meta` field that holds a document's type; None where there are no types."""
        if self.benchmark:
            return self.benchmark.type_field
        name = as_mapping(self.log.config.get("dataset_kwargs")).get("mera_ru_type_field")
        return name if isinstance(name, str) else None

    def type_of(self, doc: Mapping[str, Any]) -> int | None:
        """A document's type; None where there are no types."""
        kind = doc["meta"].get(self.type_field) if self.type_field else None
        return kind if isinstance(kind, int) else None

    @property
    def measures(self) -> dict[Measure, None]:
        """The metrics and pipelines that any answer has a score in."""
        return dict.fromkeys(measure for answer in self.answers.values() for measure in answer.scores)

    @cached_property
    def rescored(self) -> frozenset[Measure]:
        """The measures that any answer has a score in that was made after the run."""
        return frozenset(measure for answer in self.answers.values() for measure in answer.references)

    def values(self, measure: Measure) -> Mapping[str, float]:
        """The values of a measure by what it counts: documents, or groups all of whose documents are scored."""
        if measure not in self._values:
            self._values[measure] = self._computed(measure)
        return self._values[measure]

    @cached_property
    def _values(self) -> dict[Measure, Mapping[str, float]]:
        """What `values` gave: the baseline's are wanted once for each of the other models."""
        return {}

    def _computed(self, measure: Measure) -> Mapping[str, float]:
        parts = self._parts(measure)
        if not METRICS[measure[0]].grouped:
            return parts
        groups: dict[str, list[int]] = {}
        sizes: dict[str, int] = {}
        for group, size, correct in parts.values():
            groups.setdefault(_group_name(group), []).append(correct)
            sizes[_group_name(group)] = size
        return {name: float(all(marks)) for name, marks in groups.items() if len(marks) >= sizes[name]}

    def counted(self, measure: Measure) -> list[str]:
        """The documents that the values of a measure are made of, by their hash: for groups, those of whole ones."""
        parts = self._parts(measure)
        if not METRICS[measure[0]].grouped:
            return list(parts)
        whole = self.values(measure)
        return [key for key, (group, *_) in parts.items() if _group_name(group) in whole]

    def _parts(self, measure: Measure) -> dict[str, Any]:
        return {key: answer.scores[measure] for key, answer in self.answers.items() if measure in answer.scores}

    @cached_property
    def clusters(self) -> Mapping[str, int]:
        """The regionalism of each document that is of one; documents that stand alone, and groups, are not in it."""
        # Our loader writes a size where documents count in groups; a user's own rows may hold any `group_id`.
        metas = ((key, answer.doc["meta"]) for key, answer in self.answers.items())
        return {key: meta["group_id"] for key, meta in metas if meta.get("group_size") is not None}


def _group_name(group: int) -> str:
    return f"group {group}"


@dataclass(frozen=True)
class Loaded:
    """What was found.

    Attributes:
        entries: in the order in which the models were named.
        choices: which logs were taken, one for each run.
        problems: what is wrong with them.
    """

    entries: Sequence[Entry]
    choices: Sequence[Remark]
    problems: Sequence[Remark]


def load(paths: Sequence[Path], names: Mapping[Path, str], *, across_settings: bool = False) -> Loaded:
    """Read the newest log of each model and task.

    Args:
        paths: as in `runs.find_logs`.
        names: what the model of a path is called, in place of lm-eval's name for it.
        across_settings: whether a prefilled task counts as its plain one; its models are labelled `prefilled` then.

    Raises:
        RunError: nothing can be read, or a name is not of one model.
    """
    chosen = choose(paths, names)
    problems = [*chosen.problems]
    pool: dict[tuple[str, str], Any] = {}
    entries = [
        entry
        for log in chosen.logs
        if (entry := _read(log, chosen.labels[log.run.model], across_settings, pool, problems))
    ]
    if not entries:
        raise RunError("\n".join(["Nothing is left to compare.", *map(str, merged(problems))]))
    return Loaded(entries, chosen.choices, merged(problems))


def _read(
    log: TaskLog, model: str, across_settings: bool, pool: dict[tuple[str, str], Any], problems: list[Remark]
) -> Entry | None:
    benchmark, variants = benchmark_of_task(log.task) or (None, ())
    answers, faults = read_answers(log, pool)
    if faults:
        first, file = faults[0], log.file.name
        more = remark("more_lines", n=len(faults) - 1) if len(faults) > 1 else ""
        kept = remark("others_shown" if answers else "nothing_left")
        problems.append(
            remark("broken_lines", model=model, file=file, line=first.line, fault=first.what, more=more, kept=kept)
        )
    if not answers:
        return None
    problems += add_rescored(log, model, list(answers.values()))
    problems += _missing(log, model, len(answers))
    size = log.size or max(len(answers), log.scored or 0)
    task = log.task
    if across_settings and "prefill" in variants:
        task, model = task.replace("_prefill", ""), f"{model} · {PREFILLED}"
    entry = Entry(model, task, log, benchmark, answers, size, judges_of(log))
    if not entry.measures:
        problems.append(_unscored(log, entry))
    return entry


def _missing(log: TaskLog, model: str, held: int) -> Iterator[Remark]:
    """Why documents are missing."""
    if log.scored is not None and held < log.scored:
        yield remark("not_whole", model=model, file=log.file.name, held=held, run=log.scored)
    elif log.size is not None and held < log.size:
        yield remark("limited", model=model, task=log.task, run=held, all=log.size)


def _unscored(log: TaskLog, entry: Entry) -> Remark:
    if log.run.config.get("predict_only") or any("bypass" in name for name in log.scores):
        why = "predict_only"
    elif not any(str(answer.doc.get("outputs") or "").strip() for answer in entry.answers.values()):
        why = "no_references"
    else:
        why = "no_scores"
    return remark("unscored", model=entry.model, file=log.file.name, why=remark(why))
