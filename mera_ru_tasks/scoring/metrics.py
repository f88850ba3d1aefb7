"""The table of metrics: what each is called, how it is aggregated, and where it applies."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# The names of the two filters, as lm-eval's tables and logs show them.
STRICT = "strict-match"
FLEXIBLE = "flexible-extract"

# What one document adds to a group metric: the group's id, its number of documents, and 1 if this document is right.
GroupPart = tuple[int, int, int]
# A part of a group that is never complete, whatever the number of processes that send such a part.
NO_WHOLE_GROUP: GroupPart = (-1, 1 << 40, 0)


@dataclass(frozen=True)
class Metric:
    """One metric of this package.

    Attributes:
        name: its name in lm-eval's tables and logs.
        filters: the filters that report it.
        grouped: True if it is the share of groups whose documents are all right, False if it is a mean over documents.
        judged: True if an LLM judge gives the score.
    """

    name: str
    filters: tuple[str, ...]
    grouped: bool = False
    judged: bool = False


# In the order in which tables show them.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("exact_match", (STRICT, FLEXIBLE)),
        Metric("group_exact_match", (STRICT, FLEXIBLE), grouped=True),
        Metric("letter_match", (FLEXIBLE,)),
        Metric("f1", (FLEXIBLE,)),
        Metric("answered", (FLEXIBLE,)),
        Metric("judge_score", (STRICT,), judged=True),
        Metric("group_judge_score", (STRICT,), grouped=True, judged=True),
    )
}


def group_mean(parts: Iterable[GroupPart]) -> float:
    """Return the share of groups whose documents are all right (MERA's Group Exact Match).

    A group is left out, with a warning, if some of its documents have no score (`--limit`, no reference, no verdict):
    it is not known whether the whole group is right.

    Args:
        parts: one part for each document, in any order, from any number of processes.

    Returns:
        A share from 0 to 1; NaN if no group is complete.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for group_id, size, correct in parts:
        groups[group_id].append(correct)
        sizes[group_id] = size
    whole = [all(correct) for group_id, correct in groups.items() if len(correct) >= sizes[group_id]]
    if len(whole) < len(groups):
        logger.warning(
            "RussianRegions: %d of %d regionalisms were scored only in part (because of a limit, or documents without "
            "a reference or verdict). The group metric leaves them out.",
            len(groups) - len(whole),
            len(groups),
        )
    return sum(whole) / len(whole) if whole else float("nan")
