"""By what standard a score is given: which judge gave it, and against which reference. Others make another measure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mera_ru_tasks.compare.load import Entry, Measure
from mera_ru_tasks.compare.notes import Remark, remark, setting
from mera_ru_tasks.scoring.metrics import METRICS


def judge_of(entry: Entry, measure: Measure) -> Mapping[str, Any] | None:
    """The judge behind a measure (see `judge.fingerprint.identity`); None where there is none or it is not known."""
    return entry.judges.get(measure[1]) if _is_judged(measure) else None


def differing_standards(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Remark]:
    """What makes a measure of two entries two measures."""
    if _is_judged(measure):
        yield from _judges(entry, baseline, measure)
    yield from _references(entry, baseline, measure)


def naming_the_judge(entry: Entry, measure: Measure) -> Iterator[Remark]:
    """Who gave the scores of a measure, where that is a judge and known."""
    if judge := judge_of(entry, measure):
        yield remark("judged_by", judge=judge["model"], prompt=judge["prompt_version"])


def _is_judged(measure: Measure) -> bool:
    return METRICS[measure[0]].judged


def _judges(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Remark]:
    ours, theirs = judge_of(entry, measure), judge_of(baseline, measure)
    if ours is None or theirs is None:
        unknown = [e.model for e, judge in ((entry, ours), (baseline, theirs)) if judge is None]
        yield remark("unknown_judge", models=", ".join(unknown))
        return
    for name in ours:
        if ours[name] != theirs[name]:
            first, second = (_text(judge[name]) for judge in (ours, theirs))
            yield setting(remark(f"judge_{name}"), first, second)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _references(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Remark]:
    if measure not in entry.rescored and measure not in baseline.rescored:
        return  # both by the logged references, which are a part of the documents that are paired
    pairs = [
        (answer, baseline.answers[key])
        for key, answer in entry.answers.items()
        if measure in answer.scores and key in baseline.answers and measure in baseline.answers[key].scores
    ]
    references = [(one.reference(measure), other.reference(measure)) for one, other in pairs]
    changed = sum(one is None or one != other for one, other in references)
    if changed:
        yield remark("other_references", changed=changed, common=len(pairs))
