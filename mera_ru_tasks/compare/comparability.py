"""Decide whether two runs of a task can be compared document by document, and report their differences.

The runs must have the same documents, prompts and settings. Their scores must also have the same judge and references.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.compare.load import Entry
from mera_ru_tasks.compare.notes import note, setting
from mera_ru_tasks.harness.prompt import render
from mera_ru_tasks.issues import Issue
from mera_ru_tasks.logs.find import TaskLog
from mera_ru_tasks.logs.reader import Measure
from mera_ru_tasks.logs.setting import differing, shots_of
from mera_ru_tasks.scoring.metrics import METRICS
from mera_ru_tasks.secrets import comparable_settings, hidden

# The fields of a task's configuration that affect its prompts, in addition to documents and shots.
_PROMPT_FIELDS = ("description", "doc_to_text", "fewshot_delimiter", "target_delimiter")


@dataclass(frozen=True)
class Comparability:
    """The result of checking whether two entries can be compared.

    Attributes:
        documents: the hashes of the documents that both entries contain.
        differences: the differences that prevent a comparison, unless `across_settings` is True.
        notes: the differences and unknown settings that do not prevent a comparison.
        allowed: True if the entries are compared.
        across_settings: True if the common documents are compared despite differences.
    """

    documents: Sequence[str]
    differences: Sequence[Issue]
    notes: Sequence[Issue]
    allowed: bool
    across_settings: bool

    def allows(self, differences: Sequence[Issue]) -> bool:
        """Return True if a measure with these differences is compared (see `measure_differences`)."""
        return self.allowed and (self.across_settings or not differences)


def comparability(entry: Entry, baseline: Entry, *, across_settings: bool = False) -> Comparability:
    """Find the differences between two entries of one task.

    Documents are paired by lm-eval's document hash. The prompts of a pair must be the same. If they differ only in the
    markup of the chat template, the entries are compared with a note.

    Args:
        entry: the answers of one model.
        baseline: the answers of the other model.
        across_settings: True to compare the common documents despite differences.
    """
    common = [key for key in baseline.answers if key in entry.answers]
    differences = [*_document_differences(entry, baseline, len(common)), *_setting_differences(entry, baseline)]
    notes = list(_notes(entry, baseline, common))
    changed = [key for key in common if entry.answers[key].prompt_hash != baseline.answers[key].prompt_hash]
    if changed and not _explain_prompts(differences):
        if _differ_only_in_wrapping(entry, baseline, changed):
            notes.append(note("chat-templates"))
        else:
            differences.append(note("other-prompts", changed=len(changed), common=len(common)))
    allowed = bool(common) and (across_settings or not differences)
    return Comparability(common, differences, notes, allowed, across_settings)


def _document_differences(entry: Entry, baseline: Entry, common: int) -> Iterator[Issue]:
    ours, theirs = len(entry.answers), len(baseline.answers)
    if not common:
        yield note("no-common-document")
    elif not common == ours == theirs:
        yield note("documents", ours=_size(entry), theirs=_size(baseline), common=common)


def _size(entry: Entry) -> Issue | str:
    limit = entry.log.run.config.get("limit")
    number = str(len(entry.answers))
    return note("size", n=number, limit=f"{limit:g}") if isinstance(limit, (int, float)) else number


def _setting_differences(entry: Entry, baseline: Entry) -> Iterator[Issue]:
    if entry.log.run.results_file is not None and baseline.log.run.results_file is not None:
        ours, theirs = _prompt_settings(entry.log), _prompt_settings(baseline.log)
        for name in ours:
            if ours[name] != theirs[name] and not (ours[name] is None or theirs[name] is None):
                yield setting(note(name), _brief(ours[name]), _brief(theirs[name]))
    if entry.prefilled != baseline.prefilled:
        first, second = (note("prefilled" if e.prefilled else "plain") for e in (entry, baseline))
        yield setting(note("prompt-end"), first, second)


def _prompt_settings(log: TaskLog) -> dict[str, Any]:
    """Return the settings that affect a run's prompts, by note code. The value of an unknown setting is None."""
    return {
        "version": log.version,
        "shots": log.num_fewshot,
        "seed": log.run.config.get("fewshot_seed") if log.num_fewshot else None,
        "turns": _turns(log) if log.num_fewshot else None,
        "system": log.run.results.get("system_instruction") or "",
    }


def _turns(log: TaskLog) -> Any:
    """Return True if each shot is a dialogue turn, or None without a dialogue or if the setting is unknown."""
    results = log.run.results
    return results.get("fewshot_as_multiturn") if results.get("chat_template") is not None else None


def _explain_prompts(differences: Sequence[Issue]) -> bool:
    """Return True if one of the differences explains why the prompts differ."""
    names = {dict(one.values).get("name") for one in differences}
    return not names.isdisjoint(note(code) for code in ("shots", "seed", "turns", "system", "prompt-end"))


def _notes(entry: Entry, baseline: Entry, common: Sequence[str]) -> Iterator[Issue]:
    if unknown := [e.model for e in (entry, baseline) if e.log.run.results_file is None]:
        yield note("unknown-settings", models=", ".join(unknown))
    if common and entry.prefilled == baseline.prefilled:
        ours, theirs = (comparable_settings(one.answers[common[0]].generation) for one in (entry, baseline))
        if names := differing(ours, theirs):
            parts = tuple(setting(name, _brief(ours.get(name)), _brief(theirs.get(name))) for name in names)
            yield note("generation", settings=parts)


def _differ_only_in_wrapping(entry: Entry, baseline: Entry, changed: Sequence[str]) -> bool:
    """Return True if it is certain that the prompts contain the same shots, question and surrounding text."""
    shots = shots_of(entry.log)
    if shots is None or shots != shots_of(baseline.log):
        return False
    if any(entry.log.config.get(name) != baseline.log.config.get(name) for name in _PROMPT_FIELDS):
        return False
    return all(_holds_question(entry, key) and _holds_question(baseline, key) for key in changed)


def _holds_question(entry: Entry, key: str) -> bool:
    answer = entry.answers[key]
    return render(answer.doc).strip() in prompt_text(answer.prompt)


def prompt_text(prompt: str) -> str:
    """Return the text of a prompt. The prompt of a chat API is a JSON list of messages."""
    if not prompt.startswith("["):
        return prompt
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    return "\n".join(content for content in contents if isinstance(content, str))


def _brief(value: Any) -> Issue | str:
    if value is None or value == "":
        return note("not-set")
    text = hidden(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= 40 else text[:39] + "…"


def judge_of(entry: Entry, measure: Measure) -> Mapping[str, Any] | None:
    """Return the judge of a measure (see `judge.config.identity`), or None if there is no judge or it is unknown."""
    return entry.judges.get(measure[1]) if METRICS[measure[0]].judged else None


def measure_differences(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Issue]:
    """Yield the differences in judge or references that prevent the comparison of two entries by a measure."""
    if METRICS[measure[0]].judged:
        yield from _judge_differences(entry, baseline, measure)
    yield from _reference_differences(entry, baseline, measure)


def judge_notes(entry: Entry, measure: Measure) -> Iterator[Issue]:
    """Yield a note with the judge of a measure if the judge is known."""
    if judge := judge_of(entry, measure):
        yield note("judged-by", judge=judge["model"], prompt=judge["prompt_version"])


def _judge_differences(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Issue]:
    ours, theirs = judge_of(entry, measure), judge_of(baseline, measure)
    if ours is None or theirs is None:
        unknown = [e.model for e, judge in ((entry, ours), (baseline, theirs)) if judge is None]
        yield note("unknown-judge", models=", ".join(unknown))
        return
    for name in ours:
        if ours[name] != theirs[name]:
            first, second = (_text(judge[name]) for judge in (ours, theirs))
            yield setting(note(f"judge-{name.replace('_', '-')}"), first, second)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reference_differences(entry: Entry, baseline: Entry, measure: Measure) -> Iterator[Issue]:
    if measure not in entry.references and measure not in baseline.references:
        return  # Both use the logged references. The documents are the same, so the references are, too.
    ours, theirs = (one.scores.get(measure, {}) for one in (entry, baseline))
    common = [key for key in ours if key in theirs]
    references = [(entry.reference(measure, key), baseline.reference(measure, key)) for key in common]
    changed = sum(one is None or one != other for one, other in references)
    if changed:
        yield note("other-references", changed=changed, common=len(common))
