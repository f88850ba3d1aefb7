"""Documents and answers for the report's browser, packed so that each text stands once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.compare.comparability import prompt_text
from mera_ru_tasks.compare.compare import Comparison
from mera_ru_tasks.compare.load import Answer, Entry
from mera_ru_tasks.data.schema import has_reference
from mera_ru_tasks.harness.prompt import render
from mera_ru_tasks.scoring import strict
from mera_ru_tasks.scoring.metrics import FLEXIBLE, STRICT

# So much of a question stands in the list of documents.
_TITLE = 160

_ANSWER_FIELDS = "model prompt response strict flexible right right_flexible answered verdicts".split()


class _Strings:
    """A table of texts, each once."""

    def __init__(self) -> None:
        self.table: dict[str, int] = {}

    def add(self, text: str) -> int:
        """The text's place in the table."""
        return self.table.setdefault(text, len(self.table))


def pack(comparison: Comparison) -> dict[str, Any]:
    """All documents with all answers, as JSON data.

    A prompt is a list of texts to be joined: the document's question, which models share, and what stands before and
    after it. An answer is a list in the order of `answer_fields`; texts are places in `strings`.
    """
    strings = _Strings()
    documents: dict[tuple[str, str], dict[str, Any]] = {}
    questions: dict[str, str] = {}
    models = {model: number for number, model in enumerate(comparison.models)}
    for entry in comparison.entries:
        for key, answer in entry.answers.items():
            place = (entry.task, key)
            if place not in documents:
                documents[place] = _document(entry, answer, comparison.tasks.index(entry.task), strings)
            if key not in questions:
                questions[key] = render(answer.doc).strip()
            packed = _answer(models[entry.model], answer, questions[key], strings)
            documents[place]["answers"].append(packed)
    ordered = sorted(documents.values(), key=lambda document: (document["task"], document["id"] or 0))
    return {
        "answer_fields": _ANSWER_FIELDS,
        "documents": ordered,
        "strings": list(strings.table),
    }


def _document(entry: Entry, answer: Answer, task: int, strings: _Strings) -> dict[str, Any]:
    doc = answer.doc
    return {
        "task": task,
        "id": doc["meta"].get("id"),
        "type": entry.type_of(doc),
        "title": strings.add(_title(doc["inputs"])),
        "reference": strings.add(doc["outputs"]) if has_reference(doc) else None,
        "answers": [],
    }


def _title(inputs: Mapping[str, str]) -> str:
    """What tells one document from the others; all inputs where none is known to."""
    names = ("question", "enantiosemic_word", "text", "lang_unit", "example_text", "region", "option_a")
    known = [inputs[name] for name in names if inputs.get(name)]
    text = " · ".join(" ".join(value.split()) for value in known or inputs.values())
    return text if len(text) <= _TITLE else text[: _TITLE - 1] + "…"


def _answer(model: int, answer: Answer, question: str, strings: _Strings) -> list[Any]:
    before, found, after = prompt_text(answer.prompt).partition(question)
    prompt = [before, question, after] if found and question else [before]
    strict_reading = strict.candidates(answer.response)[-1]
    scores = answer.scores
    return [
        model,
        [strings.add(part) for part in prompt if part],
        strings.add(answer.response),
        strings.add(strict_reading),
        strings.add(answer.extractions.get(FLEXIBLE, "")),
        scores.get(("exact_match", STRICT)),
        scores.get(("exact_match", FLEXIBLE)),
        scores.get(("answered", FLEXIBLE)),
        [[verdict.judge, verdict.score, strings.add(verdict.reason)] for verdict in answer.verdicts],
    ]
