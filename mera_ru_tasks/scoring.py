"""From a reading and a reference to numbers: what each document contributes, and how the contributions are put together."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from mera_ru_tasks.benchmarks import AnswerFormat
from mera_ru_tasks.checks import has_reference
from mera_ru_tasks.strict import accepted_answers, exact_match

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# One document's part in a group metric: the group's id, its number of documents, and whether this one is right.
GroupPart = tuple[int, int, int]


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


def _group_part(doc: Mapping[str, Any], metric: str, correct: int) -> dict[str, GroupPart]:
    meta = doc["meta"]
    return {metric: (meta["group_id"], meta["group_size"], correct)} if "group_id" in meta else {}


def group_mean(parts: Iterable[GroupPart]) -> float:
    """The share of groups in which every document is right (MERA's Group Exact Match).

    A group of which not all documents were scored (`--limit`, a missing reference) is left out, with a warning: whether
    all of it is right is not known.

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
            "%d of %d groups were scored only in part (a limit, or documents without a reference): the group metric "
            "leaves them out.",
            len(groups) - len(whole),
            len(groups),
        )
    return sum(whole) / len(whole) if whole else float("nan")
