"""Whether two runs of a task may be compared document by document, and what differs between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.compare.load import Entry
from mera_ru_tasks.compare.notes import Remark, remark, setting
from mera_ru_tasks.harness.prompt import render
from mera_ru_tasks.logs.lmeval import TaskLog, shots_of

# Of a task's configuration what goes into its prompts beside documents and shots.
_PROMPT_FIELDS = ("description", "doc_to_text", "fewshot_delimiter", "target_delimiter")


@dataclass(frozen=True)
class Pairing:
    """What a comparison of two entries rests on.

    Attributes:
        documents: the hashes of the documents that both have.
        differences: what differs so that a comparison would not be of the models alone.
        remarks: what differs, or is not known, and need not forbid it.
        allowed: whether the two are compared.
        across_settings: whether what both have is compared in spite of differences.
    """

    documents: Sequence[str]
    differences: Sequence[Remark]
    remarks: Sequence[Remark]
    allowed: bool
    across_settings: bool

    def allows(self, standards: Sequence[Remark]) -> bool:
        """Whether a measure whose standards differ so is compared (see standards.py)."""
        return self.allowed and (self.across_settings or not standards)


def pair(entry: Entry, baseline: Entry, *, across_settings: bool = False) -> Pairing:
    """Find what differs between two entries of one task.

    Documents are paired by lm-eval's hash of them, and their prompts must have one hash too. A chat template wraps the
    same shots and question in another model's marks, so prompts that differ by the wrapping alone are a remark.

    Args:
        entry: one model's answers.
        baseline: another's.
        across_settings: whether to compare what both have in spite of differences.
    """
    common = [key for key in baseline.answers if key in entry.answers]
    differences = [*_documents(entry, baseline, len(common)), *_settings(entry, baseline)]
    remarks = list(_remarks(entry, baseline, common))
    changed = [key for key in common if entry.answers[key].prompt_hash != baseline.answers[key].prompt_hash]
    if changed and not _explained(differences):
        if _differs_in_wrapping_alone(entry, baseline, changed):
            remarks.append(remark("chat_templates"))
        else:
            differences.append(remark("other_prompts", changed=len(changed), common=len(common)))
    allowed = bool(common) and (across_settings or not differences)
    return Pairing(common, differences, remarks, allowed, across_settings)


def _documents(entry: Entry, baseline: Entry, common: int) -> Iterator[Remark]:
    ours, theirs = len(entry.answers), len(baseline.answers)
    if not common:
        yield remark("no_common_document")
    elif not common == ours == theirs:
        yield remark("documents", ours=_size(entry), theirs=_size(baseline), common=common)


def _size(entry: Entry) -> Remark | str:
    limit = entry.log.run.config.get("limit")
    number = str(len(entry.answers))
    return remark("size", n=number, limit=f"{limit:g}") if isinstance(limit, (int, float)) else number


def _settings(entry: Entry, baseline: Entry) -> Iterator[Remark]:
    if entry.log.run.results_file is not None and baseline.log.run.results_file is not None:
        ours, theirs = _facts(entry.log), _facts(baseline.log)
        for name in ours:
            if ours[name] != theirs[name] and not (ours[name] is None or theirs[name] is None):
                yield setting(remark(name), _brief(ours[name]), _brief(theirs[name]))
    if entry.prefilled != baseline.prefilled:
        first, second = (remark("prefilled" if e.prefilled else "plain") for e in (entry, baseline))
        yield setting(remark("prompt_end"), first, second)


def _facts(log: TaskLog) -> dict[str, Any]:
    """What the results file says of a run's prompts, by the remark that names it; None where it says nothing."""
    return {
        "version": log.version,
        "shots": log.num_fewshot,
        "seed": log.run.config.get("fewshot_seed") if log.num_fewshot else None,
        "turns": _turns(log) if log.num_fewshot else None,
        "system": log.run.results.get("system_instruction") or "",
    }


def _turns(log: TaskLog) -> Any:
    """Whether shots are turns of a dialogue; None where there is no dialogue, or it is not known."""
    results = log.run.results
    return results.get("fewshot_as_multiturn") if results.get("chat_template") is not None else None


def _explained(differences: Sequence[Remark]) -> bool:
    """Whether a difference named already makes prompts differ."""
    names = {dict(one.values).get("name") for one in differences}
    return not names.isdisjoint(remark(key) for key in ("shots", "seed", "turns", "system", "prompt_end"))


def _remarks(entry: Entry, baseline: Entry, common: Sequence[str]) -> Iterator[Remark]:
    if unknown := [e.model for e in (entry, baseline) if e.log.run.results_file is None]:
        yield remark("unknown_settings", models=", ".join(unknown))
    if common and entry.prefilled == baseline.prefilled:
        ours, theirs = entry.answers[common[0]].generation, baseline.answers[common[0]].generation
        differing = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
        if differing:
            parts = tuple(setting(name, _brief(ours.get(name)), _brief(theirs.get(name))) for name in differing)
            yield remark("generation", settings=parts)


def _differs_in_wrapping_alone(entry: Entry, baseline: Entry, changed: Sequence[str]) -> bool:
    """Whether prompts are surely of the same parts: the shots, what the task puts around them, and the question."""
    shots = shots_of(entry.log)
    if shots is None or shots != shots_of(baseline.log):
        return False
    if any(entry.log.config.get(name) != baseline.log.config.get(name) for name in _PROMPT_FIELDS):
        return False
    return all(_asks(entry, key) and _asks(baseline, key) for key in changed)


def _asks(entry: Entry, key: str) -> bool:
    """Whether the prompt holds the document's question as it stands."""
    answer = entry.answers[key]
    return render(answer.doc).strip() in prompt_text(answer.prompt)


def prompt_text(prompt: str) -> str:
    """The text of a prompt; a chat API's is the JSON of its messages."""
    if not prompt.startswith("["):
        return prompt
    try:
        messages = json.loads(prompt)
    except (ValueError, RecursionError):
        return prompt
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    return "\n".join(content for content in contents if isinstance(content, str))


def _brief(value: Any) -> Remark | str:
    if value is None or value == "":
        return remark("not_set")
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else text[:39] + "…"
