"""Score one response against one document: the pure core that the harness, the commands and the judge share."""

from __future__ import annotations

import functools
import hashlib
import math
import re
import string
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb, prod
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import has_reference, split_reference
from mera_ru_tasks.scoring.extract import Extraction, extract_answer
from mera_ru_tasks.scoring.metrics import METRICS, NO_WHOLE_GROUP, RANKING, GroupPart
from mera_ru_tasks.scoring.normalize import fold
from mera_ru_tasks.scoring.ranking import options_of
from mera_ru_tasks.scoring.strict import accepted_answers, exact_match, exact_match_plain

# The inputs that hold the texts of the options, in the order of their letters.
_OPTIONS = [f"option_{letter}" for letter in string.ascii_lowercase]


@dataclass(frozen=True)
class Scores:
    """The scores of one response.

    Attributes:
        extraction: the answer that flexible extraction found, and which clause gave it or took it away.
        strict: the metrics of `strict-match` by name; empty if the document has no reference.
        flexible: the metrics of `flexible-extract` by name; empty if the document has no reference.
    """

    extraction: Extraction
    strict: Mapping[str, Any]
    flexible: Mapping[str, Any]


def score_response(doc: Mapping[str, Any], response: str, *, prefix: str = "") -> Scores:
    """Score one response in both filters, without lm-eval and without a judge.

    Args:
        doc: a loaded document: at least `outputs`, `answer_format` and `meta`. Option texts come from its `inputs`.
        response: what the model wrote.
        prefix: the end of the prompt that the response continues: `Ответ:` in the prefilled tasks, `<think>` if the
            prompt opened a reasoning block (see `extract.opening_mark`); empty otherwise.
    """
    extraction = extract_from(doc, response, prefix)
    flexible = score_flexible(doc, extraction.answer, extraction.visible)
    return Scores(extraction, score_strict(doc, response), flexible)


def extract_from(doc: Mapping[str, Any], response: str, prefix: str = "") -> Extraction:
    """Extract the answer of a response to a document (arguments as in `score_response`)."""
    answer_format = AnswerFormat.of(doc)
    inputs = doc.get("inputs") or {}
    options = [inputs.get(name) or "" for name in _OPTIONS[: len(answer_format.choices)]] if inputs else ()
    return extract_answer(prefix + response, answer_format, options=options if all(options) else ())


def reference_digest(doc: Mapping[str, Any]) -> str:
    """Return a short SHA-256 digest of a document's reference, the same on every machine."""
    return hashlib.sha256(doc["outputs"].encode("utf-8", "surrogatepass")).hexdigest()[:16]


def score_strict(doc: Mapping[str, Any], response: str) -> dict[str, Any]:
    """Score a response as the leaderboard does.

    Args:
        doc: a loaded document.
        response: what the model wrote.

    Returns:
        `exact_match` (0 or 1); for documents in groups, `group_exact_match` (a `GroupPart`); for a list of accepted
        answers, `exact_match_plain` (0 or 1). Empty for a document without a reference, since a score of 0 would be
        false.
    """
    if not has_reference(doc):
        return {}
    is_list = AnswerFormat.of(doc).is_list
    correct = exact_match(response, accepted_answers(doc["outputs"], phrase=is_list))
    scores: dict[str, Any] = {"exact_match": correct, **_group_part(doc, "group_exact_match", correct)}
    if is_list:
        scores["exact_match_plain"] = exact_match_plain(response, doc["outputs"])
    return scores


def score_flexible(doc: Mapping[str, Any], extraction: str, visible: str) -> dict[str, Any]:
    """Score an extracted answer.

    Args:
        doc: a loaded document.
        extraction: the answer in canonical form; empty if none was found.
        visible: the response without its reasoning. If it is a strict match, the extraction counts as right.

    Returns:
        `exact_match` and `answered` (0 or 1); `f1` (0 to 1) if several letters can be right; `letter_match` (0 or 1) if
        exactly one letter is right; `group_exact_match` (a `GroupPart`) for documents in groups. Empty without a
        reference.
    """
    if not has_reference(doc):
        return {}
    answer_format = AnswerFormat.of(doc)
    reference = doc["outputs"]
    correct = _matches(extraction, reference, answer_format)
    if not correct:
        correct = exact_match(visible, accepted_answers(reference, phrase=answer_format.is_list))
    scores: dict[str, Any] = {"exact_match": correct, "answered": int(bool(extraction) or correct)}
    if answer_format.choices:
        name = "f1" if answer_format.max_choices > 1 else "letter_match"
        if correct:
            scores[name] = 1.0 if name == "f1" else 1
        else:
            right, _ = split_reference(reference, answer_format)
            given = [part for part in extraction.split("; ")[: answer_format.max_choices] if part]
            scores[name] = letters_f1(given, right) if name == "f1" else int(given == right)
    return {**scores, **_group_part(doc, "group_exact_match", correct)}


def score_judged(doc: Mapping[str, Any], score: float | None) -> dict[str, Any]:
    """Turn a judge's score into metrics.

    Args:
        doc: a loaded document.
        score: 0, 0.5 or 1; None without a verdict; NaN to report the metrics without a value (see `harness`).

    Returns:
        `judge_score` and, for documents in groups, `group_judge_score` (a `GroupPart`, right if the judge gave 1).
        Empty without a verdict, since a missing verdict is not a 0.
    """
    if score is None:
        return {}
    part = _group_part(doc, "group_judge_score", int(score == 1))
    return {"judge_score": score, **(dict.fromkeys(part, NO_WHOLE_GROUP) if math.isnan(score) else part)}


def letters_f1(given: Iterable[str], right: Iterable[str]) -> float:
    """Return F1 of two letter sets: the harmonic mean of precision and recall of the given letters."""
    given, right = set(given), set(right)
    return 2 * len(given & right) / (len(given) + len(right)) if given or right else 0.0


# What separates several answers: «нож; ножницы», «нож, или ножницы», «нож и ножницы», «нож/ножницы».
_BETWEEN_ANSWERS = re.compile(r" ?[;,/] ?(?:(?:или|либо|и) )?| (?:или|либо|и) ")


_HYPHEN = re.compile("[-‐‑]")


def _matches(extraction: str, reference: str, answer_format: AnswerFormat) -> int:
    """Return 1 if the extraction equals the reference after folding.

    Several language units match in any order. A riddle also matches if the extraction names several answers and all of
    them are accepted.
    """
    if not extraction or extraction == reference:
        return int(bool(extraction))
    if answer_format.choices:
        letters, phrase = split_reference(reference, answer_format)
        given, given_phrase = split_reference(extraction, answer_format)
        is_same = not set(_keys(given_phrase)).isdisjoint(_keys(phrase)) or _answers(given_phrase) == _answers(phrase)
        return int(given == letters and is_same)
    if answer_format.whole:  # in a text the order of words matters
        return int(fold(extraction) == fold(reference))
    accepted = _accepted_keys(reference)
    return int(not accepted.isdisjoint(_keys(extraction)) or accepted.issuperset(_answers(extraction)))


@functools.lru_cache(maxsize=4096)
def _accepted_keys(reference: str) -> frozenset[str]:
    """Return the keys of all answers that the reference of a riddle accepts."""
    return frozenset(key for entry in reference.split(";") for key in _keys(entry)) - {""}


@functools.lru_cache(maxsize=4096)
def _keys(phrase: str) -> tuple[str, str]:
    """Return the forms in which phrases are compared: folded, and with the words sorted, hyphens being spaces."""
    return fold(phrase), " ".join(sorted(fold(_HYPHEN.sub(" ", phrase)).split()))


def _answers(text: str) -> list[str]:
    return sorted(fold(answer) for answer in _BETWEEN_ANSWERS.split(" ".join(text.split())))


def _group_part(doc: Mapping[str, Any], metric: str, correct: int) -> dict[str, GroupPart]:
    meta = doc["meta"]
    return {metric: (meta["group_id"], meta["group_size"], correct)} if "group_size" in meta else {}


Doc = Mapping[str, Any]


def chance_level(metric: str, docs: Sequence[Doc]) -> float | None:
    """Return the chance level of a metric over documents.

    - One letter (RussianRegions): draw one of the option letters at random, without a phrase. With four letters,
      `letter_match` is 1/4; `exact_match` is 1/4, or 0 if the phrase is required.
    - Several letters (Enantiosemy): draw k of the option letters at random, with the k that scores best on these
      documents. For `exact_match` this is the largest value of: the share of documents with k correct letters, divided
      by the number of sets of k letters.
    - A phrase (Riddles): 0.
    - Ranked options: the level in the table of metrics; for `top1`, the mean share of right options. `bits_per_byte`
      and the group metric have none.

    If the types of one task have different answer formats, each document counts by its own.

    Args:
        metric: the metric's name.
        docs: the documents.

    Returns:
        A number from 0 to 1. None for `answered`, for judge scores of tasks with options, for `bits_per_byte`, and if a
        document has no reference.
    """
    if not docs or not all(has_reference(doc) for doc in docs):
        return None
    if RANKING in METRICS[metric].filters:
        if METRICS[metric].chance is None and metric.startswith("top1"):
            return _mean(_mean(option.right for option in options_of(doc)) for doc in docs)
        return METRICS[metric].chance
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


def _level_of_form(metric: str, form: AnswerFormat, docs: Sequence[Doc]) -> float:
    if not form.choices:
        return 0.0
    if form.max_choices > 1:
        return _best_size(docs, form, _expected_f1 if metric == "f1" else _expected_match)
    return 0.0 if form.with_phrase and metric != "letter_match" else 1 / len(form.choices)


class ChanceLevels:
    """Chance levels over the documents of one task. Models share documents, so each level is computed once."""

    def __init__(self, docs: Mapping[str, Doc]) -> None:
        """Keep the task's documents, by hash."""
        self._docs = docs
        self._levels: dict[tuple[str, tuple[str, ...]], float | None] = {}

    def of(self, metric: str, keys: Iterable[str]) -> float | None:
        """Return the chance level of a metric over the documents with these hashes (see `chance_level`)."""
        place = (metric, tuple(keys))
        if place not in self._levels:
            self._levels[place] = chance_level(metric, [self._docs[key] for key in place[1]])
        return self._levels[place]


def right_letters(doc: Doc) -> int:
    """Return the number of letters in a document's reference."""
    return len(split_reference(doc["outputs"], AnswerFormat.of(doc))[0])


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
    """Return the mean F1 of `size` random letters: twice the mean hits, size × right / options, over size + right."""
    return 2 * size * right / options / (size + right)


def _mean(values: Iterable[float]) -> float:
    values = list(values)
    return sum(values) / len(values)
