"""One log of lm-eval as answers: the lines of all pipelines joined by document, each part checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mera_ru_tasks.errors import RunError
from mera_ru_tasks.logs.lmeval import TaskLog
from mera_ru_tasks.logs.samples import Sample, check_document, parse_sample
from mera_ru_tasks.scoring.metrics import METRICS
from mera_ru_tasks.scoring.score import reference_digest

# A metric in a pipeline; for judges outside the harness the pipeline is `judge NAME`.
Measure = tuple[str, str]


@dataclass(frozen=True)
class Verdict:
    """What a judge said of an answer.

    Attributes:
        judge: its name; empty where the harness asked it.
        score: 0, 0.5 or 1; None where there is no verdict.
        reason: the judge's reason, or why there is no verdict.
    """

    judge: str
    score: float | None
    reason: str


@dataclass
class Answer:
    """One model's answer to one document.

    Attributes:
        doc_id: the document's number in its split.
        doc: the document.
        prompt: what the model was given.
        prompt_hash: lm-eval's hash of the prompt.
        generation: the generation settings.
        response: what the model wrote.
        readings: what each pipeline made of it.
        scores: the parts of the metrics: a number, or for a group metric (group, size, right).
        verdicts: what judges said of it.
        references: what references the scores of measures that were made after the run are against, as digests (see
            `scoring.reference_digest`); None where that is not known.
    """

    doc_id: int
    doc: Mapping[str, Any]
    prompt: str
    prompt_hash: str
    generation: Mapping[str, Any]
    response: str
    readings: dict[str, str] = field(default_factory=dict)
    scores: dict[Measure, Any] = field(default_factory=dict)
    verdicts: list[Verdict] = field(default_factory=list)
    references: dict[Measure, str | None] = field(default_factory=dict)

    def reference(self, measure: Measure) -> str | None:
        """The digest of the reference that a measure's score is against; None where it is not known."""
        return self.references[measure] if measure in self.references else reference_digest(self.doc)


@dataclass(frozen=True)
class Fault:
    """A line that cannot be used: its number, from 1, and what is wrong with it."""

    line: int
    what: str


def read_answers(log: TaskLog, pool: dict[tuple[str, str], Any]) -> tuple[dict[str, Answer], list[Fault]]:
    """Read a log line by line; a broken line costs that line alone.

    Args:
        log: the log.
        pool: documents and prompts that answers share, to hold each once; is filled.

    Returns:
        The answers by lm-eval's hash of the document, and what is wrong with the log.
    """
    answers: dict[str, Answer] = {}
    faults: list[Fault] = []
    seen: set[tuple[str, str]] = set()
    with log.file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            # The file's name alone: messages may leave the machine in a report.
            place = f"{log.file.name}, line {number}"
            try:
                sample = parse_sample(place, line)
                scores = {
                    (name, sample.pipeline): checked(name, part, place)
                    for name, part in sample.metrics.items()
                    # NaN is a missing verdict (see `scoring.score_judged`).
                    if name in METRICS and not (name == "judge_score" and part != part)
                }
                if ("document", sample.doc_hash) not in pool:
                    check_document(sample, log.task)
            except RunError as error:
                faults.append(Fault(number, str(error)))
                continue
            if (sample.doc_hash, sample.pipeline) in seen:
                what = f"{place}: the document {sample.doc_id} stands in the log twice; the first counts."
                faults.append(Fault(number, what))
                continue
            seen.add((sample.doc_hash, sample.pipeline))
            answer = answers.setdefault(sample.doc_hash, _answer(sample, pool))
            answer.readings[sample.pipeline] = sample.filtered
            answer.scores |= scores
            if ("judge_score", sample.pipeline) in scores:
                answer.verdicts.append(Verdict("", scores["judge_score", sample.pipeline], ""))
    return answers, faults


def _answer(sample: Sample, pool: dict[tuple[str, str], Any]) -> Answer:
    return Answer(
        sample.doc_id,
        pool.setdefault(("document", sample.doc_hash), sample.doc),
        pool.setdefault(("prompt", sample.prompt), sample.prompt),
        sample.prompt_hash,
        sample.generation,
        sample.response,
    )


def checked(name: str, part: Any, place: str) -> Any:
    """A metric's part as it must be; raises RunError for another."""
    if METRICS[name].grouped:
        good = isinstance(part, (list, tuple)) and len(part) == 3 and all(isinstance(number, int) for number in part)
        good = good and part[2] in (0, 1)
    else:
        good = isinstance(part, (int, float)) and 0 <= part <= 1
        part = float(part) if good else part
    if not good:
        raise RunError(f"{place}: the metric `{name}` is {part!r}, which is no score of this package. Run again.")
    return part
