"""Compute the chance level of a metric, which is the expected score of a random guesser."""

from __future__ import annotations

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb, prod
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import has_reference, split_reference
from mera_ru_tasks.scoring.metrics import METRICS, RANKING, Metric
from mera_ru_tasks.scoring.ranking import options_of

Doc = Mapping[str, Any]


def chance_level(metric: str, docs: Sequence[Doc]) -> float | None:
    """Return the chance level of a metric for a set of documents.

    - One letter (RussianRegions): the guesser draws one of the option letters, without a phrase. With four letters,
      `letter_match` is 1/4. `exact_match` is 1/4, or 0 if a phrase is required.
    - Several letters (Enantiosemy): the guesser draws k of the option letters, with the k that scores best on these
      documents. For `exact_match`, the score for k is the share of documents with k correct letters, divided by the
      number of sets of k letters.
    - A phrase (Riddles): the level is 0.
    - Ranked options: the level is the mean share of correct options. A riddle has one accepted answer among its
      distractors. For `auc`, the level is 1/2.

    If the types of a task have different answer formats, each document counts with its own format.

    Args:
        metric: the name of the metric.
        docs: the documents.

    Returns:
        A number from 0 to 1. None if the metric has no chance level (`answered`, judge scores of tasks with options,
        `bits_per_byte`, the group metric of ranked options), or if a document has no reference.
    """
    if not docs or not all(has_reference(doc) for doc in docs):
        return None
    if RANKING in METRICS[metric].filters:
        return _level_of_ranking(METRICS[metric], docs)
    by_form: dict[AnswerFormat, list[Doc]] = defaultdict(list)
    for doc in docs:
        by_form[AnswerFormat.of(doc)].append(doc)
    if metric == "answered" or (METRICS[metric].judged and any(form.choices for form in by_form)):
        return None
    if METRICS[metric].grouped:
        groups: dict[Any, list[float]] = defaultdict(list)
        for doc in docs:
            groups[doc["meta"].get("group_id")].append(_level_of_form(metric, AnswerFormat.of(doc), [doc]))
        return _mean(prod(levels) for levels in groups.values())
    return sum(len(own) / len(docs) * _level_of_form(metric, form, own) for form, own in by_form.items())


def _level_of_ranking(metric: Metric, docs: Sequence[Doc]) -> float | None:
    if metric.ratio or metric.grouped:
        return None
    if metric.name == "auc":
        return 1 / 2
    return _mean(
        _mean(option.right for option in options_of(doc))
        if AnswerFormat.of(doc).choices
        else 1 / (1 + len(doc["distractors"]))
        for doc in docs
    )


def _level_of_form(metric: str, form: AnswerFormat, docs: Sequence[Doc]) -> float:
    if not form.choices:
        return 0.0
    if form.max_choices > 1:
        return _best_size(docs, form, _expected_f1 if metric == "f1" else _expected_match)
    return 0.0 if form.with_phrase and metric != "letter_match" else 1 / len(form.choices)


class ChanceLevels:
    """The chance levels for the documents of a task. Each level is computed once, because models share documents."""

    def __init__(self, docs: Mapping[str, Doc]) -> None:
        """Create the object from a mapping from hashes to documents."""
        self._docs = docs
        self._levels: dict[tuple[str, tuple[str, ...]], float | None] = {}

    def of(self, metric: str, keys: Iterable[str]) -> float | None:
        """Return the chance level of a metric for the documents with these hashes (see `chance_level`)."""
        entry = (metric, tuple(keys))
        if entry not in self._levels:
            self._levels[entry] = chance_level(metric, [self._docs[key] for key in entry[1]])
        return self._levels[entry]


def right_letters(doc: Doc) -> int:
    """Return the number of letters in a document's reference."""
    return _count_letters(doc["outputs"], AnswerFormat.of(doc))


@functools.lru_cache(maxsize=4096)  # few references differ, and each level asks again
def _count_letters(reference: str, answer_format: AnswerFormat) -> int:
    return len(split_reference(reference, answer_format)[0])


def _best_size(docs: Sequence[Doc], form: AnswerFormat, expected: Callable[[int, int, int], float]) -> float:
    options = len(form.choices)
    counts = Counter(map(right_letters, docs))
    return max(
        sum(expected(size, right, options) * number for right, number in counts.items()) / len(docs)
        for size in range(1, form.max_choices + 1)
    )


def _expected_match(size: int, right: int, options: int) -> float:
    return 1 / comb(options, size) if size == right else 0.0


def _expected_f1(size: int, right: int, options: int) -> float:
    """Return the expected F1 of `size` random letters if `right` of the `options` are correct.

    The expected number of hits is size × right / options, and F1 is twice the hits divided by size + right.
    """
    return 2 * size * right / options / (size + right)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
