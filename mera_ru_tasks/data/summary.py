"""What a data set holds, counted, beside what its card says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, Benchmark
from mera_ru_tasks.data.files import SPLITS
from mera_ru_tasks.data.findings import Document
from mera_ru_tasks.data.schema import format_of, split_reference
from mera_ru_tasks.scoring.strict import accepted_answers

# The inputs of RussianRegions that belong to the prompt, not to the question (by its card).
PROMPT_BLOCKS = ("introduction", "task_formulation", "format_description")


def statistics(documents: Sequence[Document], benchmark: Benchmark) -> dict[str, Any]:
    """Count what the documents hold.

    Args:
        documents: the rows of all splits that the loader takes.
        benchmark: which one.

    Returns:
        For JSON: `rows` and `closed` (rows without a reference) by split; `types`, for each the rows by split and by
        the card; `letters`, how often each is right; `answers`, how many rows accept 1, 2, … letters or phrases;
        `groups`, how many there are of each size in the test split; `prompts`, for each type the rows of each prompt in
        the test split, most first. What a benchmark has not is absent; letters and answers count the test split, or the
        shots where the test answers are closed (`answers_of` says which).
    """
    test = [document for document in documents if document.split == "test"]
    answered = [document for document in test if document.reference]
    shots = [document for document in documents if document.split == "shots" and document.reference]
    counted = answered or shots
    found: dict[str, Any] = {
        "rows": {split: sum(document.split == split for document in documents) for split in SPLITS},
        "closed": {split: sum(d.split == split and not d.reference for d in documents) for split in SPLITS},
        "types": _types(documents, benchmark),
        "answers_of": "test" if answered else "shots",
        "answers": _count_sorted(_number_of_answers(document, benchmark) for document in counted),
        "prompts": prompt_counts(test, benchmark),
    }
    if _letters_of(benchmark):
        found["letters"] = letter_counts(counted, benchmark)
    if benchmark.grouped:
        found["groups"] = _count_sorted(Counter(document.content["meta"]["group_id"] for document in test).values())
    return found


def letter_counts(documents: Iterable[Document], benchmark: Benchmark) -> dict[str, int]:
    """How often each letter is right, over documents with a reference."""
    counts = Counter(letter for document in documents for letter in right_letters(document, benchmark))
    return {letter: counts[letter] for letter in _letters_of(benchmark)}


def _letters_of(benchmark: Benchmark) -> str:
    """The option letters of all types; those of one type begin those of another."""
    return max((answer_format.choices for answer_format in benchmark.formats.values()), key=len)


def right_letters(document: Document, benchmark: Benchmark) -> list[str]:
    """The letters of a document's reference."""
    return split_reference(document.reference, format_of(document.content, benchmark) or PHRASE)[0]


def prompt_counts(documents: Iterable[Document], benchmark: Benchmark) -> dict[str, list[int]]:
    """For each type (`all` where there are none) how many documents each prompt has, most first."""
    prompts: dict[str, Counter[tuple[str, ...]]] = {}
    for document in documents:
        prompts.setdefault(kind_of(document, benchmark), Counter())[_prompt(document)] += 1
    return {kind: sorted(counts.values(), reverse=True) for kind, counts in sorted(prompts.items())}


def kind_of(document: Document, benchmark: Benchmark) -> str:
    """The document's type as text, `all` where there are no types."""
    return str(document.content["meta"][benchmark.type_field]) if benchmark.type_field else "all"


def _prompt(document: Document) -> tuple[str, ...]:
    blocks = (document.inputs.get(name, "") for name in PROMPT_BLOCKS)
    return (document.content["instruction"], *blocks)


def _types(documents: Sequence[Document], benchmark: Benchmark) -> dict[str, Mapping[str, int]]:
    counts = Counter((document.split, kind_of(document, benchmark)) for document in documents)
    sizes = {"all" if kind is None else str(kind): size for kind, size in benchmark.test_size.items()}
    return {kind: {**{split: counts[split, kind] for split in SPLITS}, "card": size} for kind, size in sizes.items()}


def _number_of_answers(document: Document, benchmark: Benchmark) -> int:
    answer_format = format_of(document.content, benchmark) or PHRASE
    if answer_format.choices:
        return len(right_letters(document, benchmark))
    return len(accepted_answers(document.reference, phrase=True))


def _count_sorted(values: Iterable[int]) -> dict[str, int]:
    return {str(value): count for value, count in sorted(Counter(values).items())}
