"""One document as a run sees it: its prompt, its reference, and what the pipelines make of a response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.load import load
from mera_ru_tasks.data.sources import source_of
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.harness import prompt
from mera_ru_tasks.scoring import strict
from mera_ru_tasks.scoring.strict import MARKER


@dataclass(frozen=True)
class Shown:
    """A document ready to be shown.

    Attributes:
        doc: the document (see `data`).
        prompt: what a model is given, without a chat template.
        prefix: what the prompt ends in, for the response to go on from; empty for the plain tasks.
    """

    doc: Mapping[str, Any]
    prompt: str
    prefix: str

    @property
    def reference(self) -> str:
        """The reference answer, empty where it is closed."""
        text: str = self.doc["outputs"]
        return text.strip()


@dataclass(frozen=True)
class Readings:
    """What the pipelines make of a response.

    Attributes:
        strict: the texts that strict-match compares with the reference.
        strict_scores: its scores; empty without a reference.
        flexible: the answer that flexible-extract read; empty where none is unmistakable.
        flexible_scores: its scores; empty without a reference.
    """

    strict: list[str]
    strict_scores: Mapping[str, Any]
    flexible: str
    flexible_scores: Mapping[str, Any]


def show(name: str, identity: int | None = None, *, shots: bool = False, data: Path | None = None) -> Shown:
    """Load one document of a benchmark or task.

    Args:
        name: the benchmark's or the task's name, or a task's YAML file (see `sources.source_of`).
        identity: the document's `meta.id`, in any split; default: the first of the test split.
        shots: take the first of the shots instead; a `_shots` task does so by itself.
        data: a data folder, as in `sources.source_of`.

    Raises:
        DataError: there is no such benchmark, no such id, or the data are missing or wrong.
    """
    source, variants = source_of(name, data)
    first = "shots" if shots or "shots" in variants else "test"
    splits = load(source.benchmark, data=source.folder and source.folder.parent, scored=first)
    documents = [*splits[first], *(doc for split, part in splits.items() if split != first for doc in part)]
    found = documents[:1] if identity is None else [doc for doc in documents if doc["meta"]["id"] == identity]
    if not found:
        known = [doc["meta"]["id"] for doc in documents]
        raise DataError(f"{source.place} has no document with id {identity}; its ids are {min(known)} to {max(known)}.")
    prefix = MARKER if "prefill" in variants else ""
    return Shown(found[0], prompt.render(found[0], prefix), prefix)


def read(shown: Shown, response: str) -> Readings:
    """Read and score a response with the functions that a run calls."""
    from mera_ru_tasks.harness.filters import FlexibleExtract, process_results

    extraction = FlexibleExtract(shown.prefix).apply([[response]], [shown.doc])[0]
    return Readings(
        strict.candidates(response),
        process_results(shown.doc, [response]),  # not through StrictMatch, which would ask a judge that is configured
        str(extraction),
        process_results(shown.doc, [extraction]),
    )
