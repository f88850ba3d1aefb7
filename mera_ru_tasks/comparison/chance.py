"""What a guesser scores who knows a task's form and nothing else. A score is worth something above it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import comb, prod
from typing import Any

from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.checks import has_reference, split_reference

Doc = Mapping[str, Any]


def chance_level(metric: str, docs: Sequence[Doc]) -> float | None:
    """The chance level of a metric over documents.

    - RussianRegions: one of four letters drawn at random, with no language unit. `exact_match` is 1/4 on type 1 and 0
      on the types that ask for the unit, `letter_match` 1/4 on all.
    - Enantiosemy: k of the six letters drawn at random, with the k that scores best on these documents. For
      `exact_match` that is the largest share of documents with k right letters divided by the number of sets of k.
    - Riddles: 0.

    Args:
        metric: the metric's name.
        docs: the documents.

    Returns:
        A number from 0 to 1; None where there is none: for `answered`, for a judge's scores of anything but riddles,
        and where a document has no reference.
    """
    if not docs or not all(has_reference(doc) for doc in docs):
        return None
    form = AnswerFormat.of(docs[0])
    if metric == "answered" or ("judge" in metric and form.letters):
        return None
    if not form.letters:
        return 0.0
    if form.most > 1:
        return _best_size(docs, _expected_f1 if metric == "f1" else _expected_match)
    if metric == "letter_match":
        return 1 / len(form.letters)
    right = [0.0 if AnswerFormat.of(doc).unit else 1 / len(form.letters) for doc in docs]
    if metric.startswith("group_"):
        groups: dict[Any, list[float]] = defaultdict(list)
        for doc, level in zip(docs, right, strict=True):
            groups[doc["meta"].get("group_id")].append(level)
        return _mean(prod(levels) for levels in groups.values())
    return _mean(right)


def right_letters(doc: Doc) -> int:
    """How many letters a document's reference holds."""
    return len(split_reference(doc["outputs"], AnswerFormat.of(doc))[0])


def _best_size(docs: Sequence[Doc], expected: Callable[[int, int, int], float]) -> float:
    options = len(AnswerFormat.of(docs[0]).letters)
    counts = Counter(map(right_letters, docs))
    return max(
        sum(expected(size, right, options) * number for right, number in counts.items()) / len(docs)
        for size in range(1, options + 1)
    )


def _expected_match(size: int, right: int, options: int) -> float:
    return 1 / comb(options, size) if size == right else 0.0


def _expected_f1(size: int, right: int, options: int) -> float:
    """Of `size` random letters size × right / options are right on average; F1 is twice that over size + right."""
    return 2 * size * right / options / (size + right)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
