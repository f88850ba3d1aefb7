"""From a reading and a reference to numbers: what each document contributes, and how they are put together."""

from __future__ import annotations

import hashlib
import logging
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.checks import has_reference, split_reference
from mera_ru_tasks.reading.text import fold
from mera_ru_tasks.strict import accepted_answers, exact_match

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# One document's part in a group metric: the group's id, its number of documents, and whether this one is right.
GroupPart = tuple[int, int, int]
# A part of no group at all: of so large a group that it is never whole, however many processes have one such part.
NO_WHOLE_GROUP: GroupPart = (-1, 1 << 40, 0)


def reference_digest(doc: Mapping[str, Any]) -> str:
    """What tells a document's reference from another, and is the same on any machine."""
    return hashlib.sha256(doc["outputs"].encode("utf-8", "surrogatepass")).hexdigest()[:16]


def score_strict(doc: Mapping[str, Any], response: str) -> dict[str, Any]:
    """Score a response as the leaderboard does.

    Args:
        doc: a loaded document (see `data`).
        response: what the model wrote.

    Returns:
        `exact_match` (0 or 1) and, for documents in groups, `group_exact_match` (a `GroupPart`); nothing for a document
        without a reference, since a 0 would be a lie.
    """
    if not has_reference(doc):
        return {}
    is_phrase = not AnswerFormat.of(doc).letters
    correct = exact_match(response, accepted_answers(doc["outputs"], phrase=is_phrase))
    return {"exact_match": correct, **_group_part(doc, "group_exact_match", correct)}


def score_flexible(doc: Mapping[str, Any], extraction: str, visible: str) -> dict[str, Any]:
    """Score what `reading.read` made of a response.

    Args:
        doc: a loaded document.
        extraction: the answer in canonical form, empty where none could be read.
        visible: the response without its reasoning; what the leaderboard would count in it counts here too.

    Returns:
        `exact_match` and `answered` (0 or 1); `f1` (0 to 1) where several letters may be right; `letter_match` (0 or 1)
        where one letter is; `group_exact_match` (a `GroupPart`) for documents in groups. Nothing without a reference.
    """
    if not has_reference(doc):
        return {}
    answer_format = AnswerFormat.of(doc)
    reference = doc["outputs"]
    correct = _matches(extraction, reference, answer_format)
    if not correct:
        correct = exact_match(visible, accepted_answers(reference, phrase=not answer_format.letters))
    scores: dict[str, Any] = {"exact_match": correct, "answered": int(bool(extraction) or correct)}
    if answer_format.letters:
        right, _ = split_reference(reference, answer_format)
        given = [part for part in extraction.split("; ")[: answer_format.most] if part]
        if answer_format.most > 1:
            scores["f1"] = max(letters_f1(given, right), float(correct))
        else:
            scores["letter_match"] = max(int(given == right), correct)
    return {**scores, **_group_part(doc, "group_exact_match", correct)}


def score_judged(doc: Mapping[str, Any], score: float | None) -> dict[str, Any]:
    """Score what the judge said of a response.

    Args:
        doc: a loaded document.
        score: 0, 0.5 or 1; None where there is no verdict; NaN to have the metrics without a number (see `harness`).

    Returns:
        `judge_score` and, for documents in groups, `group_judge_score` (a `GroupPart`, right where the judge gave 1);
        nothing without a verdict, since a missing one is not a 0.
    """
    if score is None:
        return {}
    part = _group_part(doc, "group_judge_score", int(score == 1))
    return {"judge_score": score, **(dict.fromkeys(part, NO_WHOLE_GROUP) if math.isnan(score) else part)}


def letters_f1(given: Iterable[str], right: Iterable[str]) -> float:
    """F1 of two sets, the harmonic mean of precision (given letters that are right) and recall (right ones given)."""
    given, right = set(given), set(right)
    return 2 * len(given & right) / (len(given) + len(right)) if given or right else 0.0


# What parts the answers where several are given: «нож; ножницы», «нож, или ножницы», «нож и ножницы», «нож/ножницы».
_BETWEEN_ANSWERS = re.compile(r" ?[;,/] ?(?:(?:или|либо|и) )?| (?:или|либо|и) ")


def _matches(extraction: str, reference: str, answer_format: AnswerFormat) -> int:
    """1 if the extraction is the reference, up to ё, stress marks, look-alikes and what normalisation drops.

    Language units count in any order. For a riddle an extraction also matches if it names several answers and every one
    of them is accepted; else several answers are a hedge.
    """
    if not extraction:
        return 0
    if answer_format.letters:
        return int(fold(extraction) == fold(reference) or _answers(extraction) == _answers(reference))
    accepted = {fold(entry) for entry in reference.split(";")} - {""}
    return int(fold(extraction) in accepted or accepted.issuperset(_answers(extraction)))


def _answers(text: str) -> list[str]:
    return sorted(fold(answer) for answer in _BETWEEN_ANSWERS.split(" ".join(text.split())))


def _group_part(doc: Mapping[str, Any], metric: str, correct: int) -> dict[str, GroupPart]:
    meta = doc["meta"]
    return {metric: (meta["group_id"], meta["group_size"], correct)} if "group_size" in meta else {}


def group_mean(parts: Iterable[GroupPart]) -> float:
    """The share of groups in which every document is right (MERA's Group Exact Match).

    A group of which not all documents were scored (`--limit`, a missing reference or verdict) is left out, with a
    warning: whether all of it is right is not known.

    Args:
        parts: one part for each document, in any order, from any number of processes.

    Returns:
        A share from 0 to 1; NaN where no group is whole.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for group_id, size, correct in parts:
        groups[group_id].append(correct)
        sizes[group_id] = size
    whole = [all(correct) for group_id, correct in groups.items() if len(correct) >= sizes[group_id]]
    if len(whole) < len(groups):
        logger.warning(
            "RussianRegions: %d of %d regionalisms were scored only in part (a limit, or documents without a reference "
            "or verdict), so the group metric leaves them out.",
            len(groups) - len(whole),
            len(groups),
        )
    return sum(whole) / len(whole) if whole else float("nan")
