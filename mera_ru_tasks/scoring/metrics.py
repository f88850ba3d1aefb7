"""The one table of metrics: what each is called, how it is aggregated, how to compare it, and where it applies."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# The names of the two filters of generated responses, as lm-eval's tables and logs show them.
STRICT = "strict-match"
FLEXIBLE = "flexible-extract"
# lm-eval's name for the filter of tasks that define none, as the ranking tasks do.
RANKING = "none"

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
        grouped: True if it is the share of groups whose documents are all right (`group_mean`). A document's value is
            then a `GroupPart`.
        ratio: True if it is a sum of numerators over a sum of denominators (`total_ratio`). A document's value is then
            a pair of them.
        judged: True if an LLM judge gives the score.
        higher_is_better: the direction.
        bounded: True if every value is between 0 and 1.
        primary_for: the benchmarks for which it is the number to read, among the metrics that a task reports.
    """

    name: str
    filters: tuple[str, ...]
    grouped: bool = False
    ratio: bool = False
    judged: bool = False
    higher_is_better: bool = True
    bounded: bool = True
    primary_for: frozenset[str] = frozenset()

    def aggregate(self, parts: Sequence[Any]) -> float:
        """Return the metric's value over documents, given the value or part of each; there must be one."""
        if self.grouped:
            return group_mean(parts)
        return total_ratio(parts) if self.ratio else sum(parts) / len(parts)


_ALL = frozenset({"enantiosemy", "riddles_closed", "riddles_open", "russian_regions"})
_RIDDLES = frozenset({"riddles_closed", "riddles_open"})

# In the order in which tables show them. A task either generates responses or ranks options.
METRICS = {
    metric.name: metric
    for metric in (
        # generated responses
        Metric("exact_match", (STRICT, FLEXIBLE), primary_for=_ALL),
        Metric("exact_match_plain", (STRICT,)),
        Metric("group_exact_match", (STRICT, FLEXIBLE), grouped=True),
        Metric("letter_match", (FLEXIBLE,)),
        Metric("f1", (FLEXIBLE,)),
        Metric("answered", (FLEXIBLE,)),
        Metric("judge_score", (STRICT,), judged=True),
        Metric("group_judge_score", (STRICT,), grouped=True, judged=True),
        # ranked options: Enantiosemy, Riddles, RussianRegions
        Metric("auc", (RANKING,), primary_for=frozenset({"enantiosemy"})),
        Metric("top1", (RANKING,)),
        Metric("top1_bytes", (RANKING,)),
        Metric("bits_per_byte", (RANKING,), ratio=True, higher_is_better=False, bounded=False, primary_for=_RIDDLES),
        Metric("acc", (RANKING,)),
        Metric("acc_bytes", (RANKING,)),
        Metric("cloze_acc_bytes", (RANKING,), primary_for=frozenset({"russian_regions"})),
        Metric("cloze_acc", (RANKING,)),
        Metric("letter_acc", (RANKING,)),
        Metric("group_cloze_acc_bytes", (RANKING,), grouped=True),
    )
}


def group_part(metric: str, doc: Mapping[str, Any], correct: int) -> dict[str, GroupPart]:
    """Return what a document adds to a group metric, by the metric's name; empty if documents form no groups."""
    meta = doc["meta"]
    return {metric: (meta["group_id"], meta["group_size"], correct)} if "group_size" in meta else {}


def total_ratio(parts: Iterable[tuple[float, float]]) -> float:
    """Return the sum of the numerators over the sum of the denominators; NaN if the latter is 0.

    For `bits_per_byte` these are the bits and the bytes of each document.
    """
    parts = list(parts)
    denominator = sum(part[1] for part in parts)
    return sum(part[0] for part in parts) / denominator if denominator else float("nan")


def whole_groups(parts: Iterable[GroupPart]) -> dict[int, bool]:
    """Return, by group, whether all its documents are right; groups with documents that have no score are absent.

    Args:
        parts: one part for each document, in any order.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for group_id, size, correct in parts:
        groups[group_id].append(correct)
        sizes[group_id] = size
    return {group: all(correct) for group, correct in groups.items() if len(correct) >= sizes[group]}


def group_mean(parts: Iterable[GroupPart]) -> float:
    """Return the share of groups whose documents are all right (MERA's Group Exact Match).

    A group is left out, with a warning, if some of its documents have no score (`--limit`, no reference, no verdict):
    it is not known whether the whole group is right.

    Args:
        parts: one part for each document, in any order, from any number of processes.

    Returns:
        A share from 0 to 1; NaN if no group is complete.
    """
    parts = list(parts)
    whole, number = whole_groups(parts), len({group for group, *_ in parts})
    if len(whole) < number:
        logger.warning(
            "%d of %d groups were scored only in part (because of a limit, or documents without a reference or "
            "verdict). The group metric leaves them out.",
            number - len(whole),
            number,
        )
    return sum(whole.values()) / len(whole) if whole else float("nan")
