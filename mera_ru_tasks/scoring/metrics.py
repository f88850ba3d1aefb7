"""Define all metrics: their names, filters and properties, and how they are aggregated."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.textutil import plural, warn_once

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# The two filters for generated responses, as named in lm-eval's tables and logs.
STRICT = "strict-match"
FLEXIBLE = "flexible-extract"
# lm-eval's filter name for tasks without a filter, such as the ranking tasks.
RANKING = "none"

# The contribution of a document to a group metric: the id of the group, the number of documents in the group, and 1 if
# the document is correct, otherwise 0.
GroupPart = tuple[int, int, int]
# A contribution to a group that can never be complete, however many processes send one.
NO_WHOLE_GROUP: GroupPart = (-1, 1 << 40, 0)


@dataclass(frozen=True)
class Metric:
    """A metric of this package.

    Attributes:
        name: the metric's name in lm-eval's tables and logs.
        filters: the filters for which the metric is reported.
        grouped: True if the metric is the share of groups whose documents are all correct (`group_mean`). The value of
            a document is then a `GroupPart`.
        ratio: True if the metric is a sum of numerators divided by a sum of denominators (`total_ratio`). The value of
            a document is then a pair of a numerator and a denominator.
        judged: True if an LLM judge gives the score.
        higher_is_better: False if lower values are better.
        bounded: True if every value is between 0 and 1.
        primary_for: the benchmarks for which this is the primary metric of a task.
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
        """Return the value of the metric for documents.

        Args:
            parts: the value or the contribution of each document; at least one.
        """
        if self.grouped:
            return group_mean(parts)
        return total_ratio(parts) if self.ratio else sum(parts) / len(parts)


_ALL = frozenset({"enantiosemy", "riddles_closed", "riddles_open", "russian_regions"})
_RIDDLES = frozenset({"riddles_closed", "riddles_open"})

# The metrics in the order of the tables. A task either generates responses or ranks options.
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
    """Return a document's contribution to a group metric, by metric; empty if the documents form no groups."""
    meta = doc["meta"]
    return {metric: (meta["group_id"], meta["group_size"], correct)} if "group_size" in meta else {}


def total_ratio(parts: Iterable[tuple[float, float]]) -> float:
    """Return the sum of the numerators divided by the sum of the denominators, or NaN if the latter is 0.

    Args:
        parts: a pair of a numerator and a denominator for each document (bits and bytes for `bits_per_byte`).
    """
    parts = list(parts)
    denominator = sum(part[1] for part in parts)
    return sum(part[0] for part in parts) / denominator if denominator else float("nan")


def whole_groups(parts: Iterable[GroupPart]) -> dict[int, bool]:
    """Return a mapping from each group id to a Boolean, which is True if all documents of the group are correct.

    A group is left out if one of its documents has no score.

    Args:
        parts: the contribution of each document, in any order.
    """
    groups: dict[int, list[int]] = defaultdict(list)
    sizes: dict[int, int] = {}
    for group_id, size, correct in parts:
        groups[group_id].append(correct)
        sizes[group_id] = size
    return {group: all(correct) for group, correct in groups.items() if len(correct) >= sizes[group]}


def group_mean(parts: Iterable[GroupPart]) -> float:
    """Return the share of groups whose documents are all correct (MERA's Group Exact Match).

    A group is left out, with a warning, if one of its documents has no score (`--limit`, no reference, no verdict).

    Args:
        parts: the contribution of each document, in any order, from any number of processes.

    Returns:
        A share from 0 to 1, or NaN if no group is complete.
    """
    parts = list(parts)
    whole, number = whole_groups(parts), len({group for group, *_ in parts})
    if len(whole) < number:
        partly = number - len(whole)
        warn_once(
            f"{partly} of {number} groups {plural(partly, 'was', 'were')} scored only partly, because of a limit or "
            "because documents have no reference or verdict. The group metric covers only whole groups."
        )
    return sum(whole.values()) / len(whole) if whole else float("nan")
