"""Break scores down by type, prompt, number of correct letters or accepted answers, filter and set of riddles."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.compare import stats
from mera_ru_tasks.compare.load import Entry
from mera_ru_tasks.compare.results import difference, estimate
from mera_ru_tasks.compare.stats import Estimate
from mera_ru_tasks.data.benchmarks import PROMPT_BLOCKS, RIDDLES_CLOSED, RIDDLES_OPEN, AnswerFormat, benchmark_of_task
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.scoring.chance import ChanceLevels, right_letters
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT
from mera_ru_tasks.scoring.strict import accepted_answers

TYPE = "type"
PROMPT = "prompt"
LETTERS = "right_letters"
ANSWERS = "accepted_answers"

FORMAT = "format"
OPENNESS = "open_minus_closed"


@dataclass(frozen=True)
class Slice:
    """The `exact_match` of one model on a subset of a task.

    Attributes:
        task: the task.
        by: the property that splits the task into subsets.
        part: the subset's name: a number, or `TYPE.PROMPT` if `by` is the prompt.
        detail: the prompt's template if `by` is the prompt, otherwise empty.
        filter: the filter.
        model: the model's label.
        score: the score.
        chance: the chance level of the subset.
    """

    task: str
    by: str
    part: str
    detail: str
    filter: str
    model: str
    score: Estimate
    chance: float | None


@dataclass(frozen=True)
class Spread:
    """The best minus the worst score of a model over the prompts of one type.

    Each prompt has its own documents, so the scores also vary by chance. `p` is the p-value of a permutation test: the
    share of random assignments of correct answers to prompts that have at least this spread. `sd` is the standard
    deviation of the scores between prompts.
    """

    task: str
    kind: str
    filter: str
    model: str
    spread: float
    p: float
    sd: float


@dataclass(frozen=True)
class Gap:
    """A difference between two scores of one model.

    Attributes:
        task: the task.
        kind: `FORMAT` for flexible-extract minus strict-match, `OPENNESS` for riddles_open minus riddles_closed.
        filter: the filter. Empty for `FORMAT`.
        model: the model's label.
        value: the difference.
    """

    task: str
    kind: str
    filter: str
    model: str
    value: Estimate


def template_of(doc: Mapping[str, Any]) -> str:
    """Return the template of a document's prompt: the instruction, including the inputs that are part of the prompt."""
    blocks = {name: doc["inputs"].get(name) for name in PROMPT_BLOCKS}
    text: str = doc["instruction"]
    for name, block in blocks.items():
        if block:
            text = text.replace("{" + name + "}", block)
    return text


Part = tuple[str, str]


def slices(entries: Sequence[Entry], docs: Mapping[str, Mapping[str, Any]], levels: ChanceLevels) -> list[Slice]:
    """Break the `exact_match` of a task down by every property that splits the task, for both filters.

    Args:
        entries: the answers of each model.
        docs: the documents by hash.
        levels: the chance levels over these documents.
    """
    found = []
    for by, parts in _divisions(entries[0], docs).items():
        for filter in (STRICT, FLEXIBLE):
            for entry in entries:
                found += _slices(entry, by, parts, filter, levels)
    order = {name: position for position, name in enumerate(dict.fromkeys(s.by for s in found))}
    return sorted(found, key=lambda s: (order[s.by], [int(number) for number in s.part.split(".")]))


def _slices(
    entry: Entry, by: str, part_of: Mapping[str, Part | None], filter: str, levels: ChanceLevels
) -> list[Slice]:
    if entry.is_unverified(("exact_match", filter)):
        return []  # the tables of breakdowns cannot mark a score
    values = entry.values(("exact_match", filter))
    parts: dict[Part, dict[str, float]] = defaultdict(dict)
    for key, value in values.items():
        part = part_of[key]
        if part is not None:
            parts[part][key] = value
    return [
        Slice(
            entry.task, by, *part, filter, entry.model, estimate(entry, chosen, "exact_match"),
            levels.of("exact_match", chosen),
        )
        for part, chosen in parts.items()
    ]  # fmt: skip


def _divisions(first: Entry, docs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Part | None]]:
    """Return, for each property that splits the task, a mapping from document hash to subset.

    A document without the property maps to None. Properties with a single subset are left out.
    """

    def kind(doc: Mapping[str, Any]) -> int:
        found = first.type_of(doc)
        return 1 if found is None else found

    templates = {key: (kind(doc), template_of(doc)) for key, doc in docs.items()}
    numbers: dict[tuple[int, str], int] = {}
    count: dict[int, int] = defaultdict(int)
    for template in sorted(set(templates.values())):
        count[template[0]] += 1
        numbers[template] = count[template[0]]
    # In a custom dataset, every row may have its own instruction. A breakdown by prompt would then be meaningless.
    templates_are_shared = first.benchmark is not None or 2 * len(numbers) <= len(docs)

    def letters(doc: Mapping[str, Any]) -> Part | None:
        return (str(right_letters(doc)), "") if has_reference(doc) else None

    def answers(doc: Mapping[str, Any]) -> Part | None:
        return (str(len(set(accepted_answers(doc["outputs"], is_list=True)))), "") if has_reference(doc) else None

    form = AnswerFormat.of(next(iter(docs.values())))
    parts: dict[str, dict[str, Part | None]] = {}
    if first.type_field:
        parts[TYPE] = {key: (str(number), "") for key, (number, _) in templates.items()}
    if templates_are_shared:
        prompts = {one: (f"{one[0]}.{number}", one[1]) for one, number in numbers.items()}
        parts[PROMPT] = {key: prompts[template] for key, template in templates.items()}
    if form.max_choices > 1:
        parts[LETTERS] = {key: letters(doc) for key, doc in docs.items()}
    if form.is_list:
        parts[ANSWERS] = {key: answers(doc) for key, doc in docs.items()}
    return {by: found for by, found in parts.items() if len(set(found.values())) > 1}


def spreads(found: Sequence[Slice]) -> list[Spread]:
    """Return how much scores vary between prompts, for each task, type, filter and model."""
    groups: dict[tuple[str, str, str, str], list[Slice]] = defaultdict(list)
    for part in found:
        if part.by == PROMPT:
            groups[part.task, part.part.partition(".")[0], part.filter, part.model].append(part)
    found_spreads = []
    for key, parts in groups.items():
        if len(parts) > 1:
            shares = [part.score.value for part in parts]
            sizes = [part.score.n for part in parts]
            found_spreads.append(Spread(*key, *stats.spread(shares, sizes), statistics.stdev(shares)))
    return found_spreads


def format_gaps(entries: Sequence[Entry]) -> list[Gap]:
    """Return flexible-extract minus strict-match for each model of a task."""
    gaps = []
    for entry in entries:
        strict, flexible = (entry.values(("exact_match", filter)) for filter in (STRICT, FLEXIBLE))
        if not entry.incomplete and (found := difference(entry, flexible, strict, "exact_match")):
            gaps.append(Gap(entry.task, FORMAT, "", entry.model, found.estimate))
    return gaps


def open_gaps(entries: Sequence[Entry]) -> list[Gap]:
    """Return riddles_open minus riddles_closed for each model that ran the same variant of both tasks."""
    found: dict[tuple[str, tuple[str, ...]], dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        known = benchmark_of_task(entry.task)
        if known and known[0] in (RIDDLES_CLOSED, RIDDLES_OPEN):
            found[entry.model, known[1]][known[0].name] = entry
    gaps = []
    for (model, _), pair in found.items():
        if len(pair) < 2:
            continue
        for filter in (STRICT, FLEXIBLE):
            scores = [pair[b.name].values(("exact_match", filter)) for b in (RIDDLES_OPEN, RIDDLES_CLOSED)]
            if all(scores) and not any(entry.is_unverified(("exact_match", filter)) for entry in pair.values()):
                parts = [
                    estimate(pair[b.name], values, "exact_match")
                    for b, values in zip((RIDDLES_OPEN, RIDDLES_CLOSED), scores, strict=True)
                ]
                value = stats.combine(parts, [1, -1])
                gaps.append(Gap(pair[RIDDLES_OPEN.name].task, OPENNESS, filter, model, value))
    return gaps
