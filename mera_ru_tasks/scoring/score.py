"""Score one response against one document: the pure core that the harness, the commands and the judge share."""

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
from mera_ru_tasks.scoring.extract import Extraction, extract_answer
from mera_ru_tasks.scoring.metrics import NO_WHOLE_GROUP, group_part
from mera_ru_tasks.scoring.normalize import fold
from mera_ru_tasks.scoring.strict import accepted_answers, entries_of, exact_match, exact_match_plain


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
    options = [inputs[name] or "" for name in answer_format.option_names(inputs)]
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
    correct = exact_match(response, accepted_answers(doc["outputs"], is_list=is_list))
    scores: dict[str, Any] = {"exact_match": correct, **group_part("group_exact_match", doc, correct)}
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
    part = group_part("group_judge_score", doc, int(score == 1))
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
    return frozenset(key for entry in entries_of(reference, is_list=True) for key in _keys(entry)) - {""}


@functools.lru_cache(maxsize=4096)
def _keys(phrase: str) -> tuple[str, str]:
    """Return the forms in which phrases are compared: folded, and with the words sorted, hyphens being spaces."""
    return fold(phrase), " ".join(sorted(fold(_HYPHEN.sub(" ", phrase)).split()))


def _answers(text: str) -> list[str]:
    return sorted(fold(answer) for answer in _BETWEEN_ANSWERS.split(" ".join(text.split())))
