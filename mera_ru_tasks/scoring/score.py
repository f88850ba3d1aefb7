"""Score one response to one document. The harness, the commands and the judge share these pure functions."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.schema import has_reference, split_reference
from mera_ru_tasks.issues import DataError
from mera_ru_tasks.scoring.extract import Extraction, extract_answer
from mera_ru_tasks.scoring.metrics import NO_WHOLE_GROUP, group_part
from mera_ru_tasks.scoring.normalize import fold
from mera_ru_tasks.scoring.strict import accepted_answers, entries_of, exact_match, exact_match_plain


@dataclass(frozen=True)
class Scores:
    """The scores of one response.

    Attributes:
        extraction: the answer that `flexible-extract` extracted, and the clause that gave or retracted it.
        strict: a mapping from metrics to scores for `strict-match`; empty if the document has no reference.
        flexible: a mapping from metrics to scores for `flexible-extract`; empty if the document has no reference.
    """

    extraction: Extraction
    strict: Mapping[str, Any]
    flexible: Mapping[str, Any]


_DOCUMENT = (
    "Load it with `load_benchmark`, or write {'outputs': 'Б', 'answer_format': {'choices': 'АБВ', 'max_choices': 1}, "
    "'meta': {'id': 1}}."
)


def score_response(doc: Mapping[str, Any], response: str, *, prefix: str = "") -> Scores:
    """Score one response with both filters, without lm-eval and without a judge.

    Args:
        doc: a document of `load_benchmark`, or a mapping with these fields: `outputs`, the reference, which is empty if
            there is none; `answer_format`, with `choices` (the option letters), `max_choices` (the largest number of
            letters in an answer) and `with_phrase` (True if a phrase follows the letter), or `{}` for a word or phrase;
            `meta`, with at least `id`. Optional: `inputs`, with the texts of the options.
        response: the model's response.
        prefix: the end of the prompt, which the response continues. It is `Ответ:` for prefilled tasks, and `<think>`
            if the prompt opened a reasoning block (see `extract.opening_mark`). Otherwise it is empty.

    Raises:
        DataError: a field of `doc` is missing or invalid.
    """
    if missing := [name for name in ("outputs", "answer_format", "meta") if name not in doc]:
        raise DataError(f"The document has no {' and no '.join(f'`{name}`' for name in missing)}. {_DOCUMENT}")
    try:
        extraction = extract_from(doc, response, prefix)
    except TypeError as error:
        raise DataError(f"The `answer_format` of the document is invalid. {_DOCUMENT}") from error
    flexible = score_flexible(doc, extraction.answer, extraction.visible)
    return Scores(extraction, score_strict(doc, response), flexible)


def extract_from(doc: Mapping[str, Any], response: str, prefix: str = "") -> Extraction:
    """Extract the answer from a response to a document. For the arguments, see `score_response`."""
    answer_format = AnswerFormat.of(doc)
    inputs = doc.get("inputs") if answer_format.choices else None
    options = [inputs[name] or "" for name in answer_format.option_names(inputs)] if inputs else []
    return extract_answer(prefix + response, answer_format, options=options if all(options) else ())


def reference_digest(doc: Mapping[str, Any]) -> str:
    """Return a short SHA-256 digest of a document's reference, which is the same on every machine."""
    return hashlib.sha256(doc["outputs"].encode("utf-8", "surrogatepass")).hexdigest()[:16]


def score_strict(doc: Mapping[str, Any], response: str) -> dict[str, Any]:
    """Score a response as the leaderboard does.

    Args:
        doc: a loaded document.
        response: the model's response.

    Returns:
        A mapping from metrics to values: `exact_match` (0 or 1), `group_exact_match` (a `GroupPart`) for documents in
        groups, and `exact_match_plain` (0 or 1) for references that list accepted answers. The mapping is empty for a
        document without a reference, because a score of 0 would be wrong.
    """
    if not has_reference(doc):
        return {}
    is_list = AnswerFormat.of(doc).is_list
    correct = exact_match(response, accepted_answers(doc["outputs"], is_list=is_list))
    scores: dict[str, Any] = {"exact_match": correct, **group_part("group_exact_match", doc, correct)}
    if is_list:
        scores["exact_match_plain"] = exact_match_plain(response, doc["outputs"])
    return scores


def score_flexible(doc: Mapping[str, Any], extraction: str, visible: str) -> dict[str, Any]:
    """Score an extracted answer.

    Args:
        doc: a loaded document.
        extraction: the extracted answer in the canonical format; empty if there is none.
        visible: the response without its reasoning. If it is a strict match, the extracted answer counts as correct.

    Returns:
        A mapping from metrics to values: `exact_match` and `answered` (0 or 1), `f1` (0 to 1) if several letters can be
        correct, `letter_match` (0 or 1) if exactly one letter is correct, and `group_exact_match` (a `GroupPart`) for
        documents in groups. The mapping is empty for a document without a reference.
    """
    if not has_reference(doc):
        return {}
    answer_format = AnswerFormat.of(doc)
    reference = doc["outputs"]
    correct = _matches(extraction, reference, answer_format)
    if not correct:
        correct = exact_match(visible, accepted_answers(reference, is_list=answer_format.is_list))
    scores: dict[str, Any] = {"exact_match": correct, "answered": int(bool(extraction) or correct)}
    if answer_format.choices:
        name = "f1" if answer_format.max_choices > 1 else "letter_match"
        if correct:
            scores[name] = 1.0 if name == "f1" else 1
        else:
            right, _ = split_reference(reference, answer_format)
            given = [part for part in extraction.split("; ")[: answer_format.max_choices] if part]
            scores[name] = letters_f1(given, right) if name == "f1" else int(given == right)
    return {**scores, **group_part("group_exact_match", doc, correct)}


def score_judged(doc: Mapping[str, Any], score: float | None) -> dict[str, Any]:
    """Convert a judge's score to metrics.

    Args:
        doc: a loaded document.
        score: 0, 0.5 or 1; None without a verdict; NaN to report the metrics without a value (see `harness.filters`).

    Returns:
        A mapping from metrics to values: `judge_score` and, for documents in groups, `group_judge_score` (a
        `GroupPart`, correct if the judge gave 1). The mapping is empty without a verdict, because a missing verdict is
        not a 0.
    """
    if score is None:
        return {}
    part = group_part("group_judge_score", doc, int(score == 1))
    return {"judge_score": score, **(dict.fromkeys(part, NO_WHOLE_GROUP) if math.isnan(score) else part)}


def letters_f1(given: Iterable[str], right: Iterable[str]) -> float:
    """Return the F1 score of the given letters, which is the harmonic mean of their precision and recall."""
    given, right = set(given), set(right)
    return 2 * len(given & right) / (len(given) + len(right)) if given or right else 0.0


# Matches the separators of several answers: «нож; ножницы», «нож, или ножницы», «нож и ножницы», «нож/ножницы».
_BETWEEN_ANSWERS = re.compile(r" ?[;,/] ?(?:(?:или|либо|и) )?| (?:или|либо|и) ")


_HYPHEN = re.compile("[-‐‑]")


def _matches(extraction: str, reference: str, answer_format: AnswerFormat) -> int:
    """Return 1 if the extracted answer equals the reference after folding, otherwise 0.

    Several phrases after a letter match in any order. For a riddle, several extracted answers match if all of them are
    accepted.
    """
    if not extraction or extraction == reference:
        return int(bool(extraction))
    if answer_format.choices:
        letters, phrase = split_reference(reference, answer_format)
        given, given_phrase = split_reference(extraction, answer_format)
        is_same = not set(_keys(given_phrase)).isdisjoint(_keys(phrase)) or _answers(given_phrase) == _answers(phrase)
        return int(given == letters and is_same)
    if answer_format.whole:  # in a text, the order of words matters
        return int(fold(extraction) == fold(reference))
    accepted = _accepted_keys(reference)
    return int(not accepted.isdisjoint(_keys(extraction)) or accepted.issuperset(_answers(extraction)))


@functools.lru_cache(maxsize=4096)
def _accepted_keys(reference: str) -> frozenset[str]:
    """Return the keys (see `_keys`) of all accepted answers in the reference of a riddle."""
    return frozenset(key for entry in entries_of(reference, is_list=True) for key in _keys(entry)) - {""}


@functools.lru_cache(maxsize=4096)
def _keys(phrase: str) -> tuple[str, str]:
    """Return two keys for comparing phrases: the folded phrase, and its words in sorted order, split at hyphens."""
    return fold(phrase), " ".join(sorted(fold(_HYPHEN.sub(" ", phrase)).split()))


def _answers(text: str) -> list[str]:
    return sorted(fold(answer) for answer in _BETWEEN_ANSWERS.split(" ".join(text.split())))
