"""What the loader takes but an author should see: each check looks for one kind of slip and names where it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from mera_ru_tasks.data.benchmarks import Benchmark
from mera_ru_tasks.data.findings import Document, Finding
from mera_ru_tasks.data.schema import format_of, split_reference
from mera_ru_tasks.data.similarity import near_doubles
from mera_ru_tasks.data.summary import (
    PROMPT_BLOCKS,
    kind_of,
    letter_counts,
    prompt_counts,
    right_letters,
)
from mera_ru_tasks.harness.prompt import placeholders, unfilled
from mera_ru_tasks.scoring.normalize import normalize
from mera_ru_tasks.scoring.strict import accepted_answers

Check = Callable[[Sequence[Document], Benchmark], Iterator[Finding]]

_WORD = re.compile(r"\w+")
_LATIN, _CYRILLIC = re.compile("[A-Za-z]"), re.compile("[А-Яа-яЁё]")

# With fewer answers, an uneven spread of letters is chance.
_FEW = 100


def suspicions(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    """Look for everything here but sizes, in rows that the loader takes."""
    for check in _CHECKS:
        yield from check(documents, benchmark)


def other_sizes(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    """Compare the test split's size with the card; this makes sense only where the loader takes every row."""
    test = [document for document in documents if document.split == "test"]
    counts = Counter(kind_of(document, benchmark) for document in test)
    card = {"all" if kind is None else str(kind): size for kind, size in benchmark.test_size.items()}
    differing = [kind for kind, size in card.items() if counts[kind] != size]
    if test and differing:
        sizes = "; ".join(
            f"{'' if kind == 'all' else f'type {kind}: '}{counts[kind]} rows, by the card {card[kind]}"
            for kind in differing
        )
        yield Finding.on_whole(
            test[0].place, f"the test split is not the whole test set ({sizes})",
            "Compare its numbers only with numbers on the same rows.",
        )  # fmt: skip


def _placeholders(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    for document in documents:
        instruction, inputs = document.content["instruction"], document.inputs
        for name in unfilled(instruction, inputs):
            yield document.finding(
                "instruction", f"no input fills the placeholder {{{name}}}",
                "Name an input as the placeholder, letter for letter, or fill it.",
            )  # fmt: skip
        for name in sorted(inputs.keys() - placeholders(instruction)):
            yield document.finding(
                f"inputs.{name}", "it is filled, but no placeholder of the instruction shows it",
                f"Put {{{name}}} into the prompt, or leave the input out.",
            )  # fmt: skip


def _mixed_scripts(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    for document in documents:
        for word in _WORD.findall(document.reference):
            latin = "".join(_LATIN.findall(word))
            if latin and _CYRILLIC.search(word):
                yield document.finding(
                    "outputs", f"the word {word!r} mixes Cyrillic with the Latin {latin!r}",
                    "Type the word in one alphabet: no correct answer matches it.",
                )  # fmt: skip


def _units(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    """The language unit is copied from the right option's text (by the prompts of types 2 and 3)."""
    for document in documents:
        answer_format = format_of(document.content, benchmark)
        if document.reference and answer_format is not None and answer_format.with_phrase:
            letters, unit = split_reference(document.reference, answer_format)
            name = f"option_{'abcdefgh'[answer_format.choices.index(letters[0])]}"
            if name in document.inputs and normalize(unit) not in normalize(document.inputs[name]):
                yield document.finding(
                    "outputs", f"the unit {unit!r} does not stand in the right option, inputs.{name}",
                    "Copy the unit from the option's text, or mend the letter.",
                )  # fmt: skip


def _repeated_answers(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    for document in documents:
        answer_format = format_of(document.content, benchmark)
        if answer_format is not None and not answer_format.choices:
            counts = Counter(accepted_answers(document.reference, phrase=True))
            for answer, count in counts.items():
                if count > 1:
                    yield document.finding(
                        "outputs", f"the answer {answer!r} is accepted {count} times", "Keep it once."
                    )


def _same_options(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    for document in documents:
        seen: dict[str, str] = {}
        for name, value in document.inputs.items():
            if not name.startswith("option_"):
                continue
            first = seen.setdefault(normalize(value), name)
            if first != name:
                yield document.finding(
                    f"inputs.{name}", f"it is the same text as {first}", "Write options that differ."
                )


def _doubles(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    """Questions that stand twice in a split, or nearly so in test and shots (a shot would give the answer away)."""
    seen: dict[tuple[str, str, str], Document] = {}
    for document in documents:
        first = seen.setdefault((document.split, kind_of(document, benchmark), _question(document)), document)
        if first is not document:
            yield document.finding(
                "inputs", f"it is the question of row {first.row} (id {first.id}) again", "Keep one of the rows."
            )
    test = [document for document in documents if document.split == "test"]
    shots = [document for document in documents if document.split == "shots"]
    nearest: dict[int, tuple[float, int]] = {}
    for index, other, share in near_doubles([_question(d) for d in test], [_question(d) for d in shots]):
        nearest[index] = max(nearest.get(index, (0.0, 0)), (share, -other))
    for index, (share, place) in nearest.items():
        shot = shots[-place]
        yield test[index].finding(
            "inputs", f"it is nearly the shot in row {shot.row} (id {shot.id}): {share:.0%} of the text is shared",
            "Replace one of them: as an example, the shot would give the answer away.",
        )  # fmt: skip


def _question(document: Document) -> str:
    return "\n".join(value for name, value in sorted(document.inputs.items()) if name not in PROMPT_BLOCKS)


def _groups(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    if not benchmark.grouped:
        return
    tested = {document.content["meta"]["group_id"] for document in documents if document.split == "test"}
    for document in documents:
        group = document.content["meta"]["group_id"]
        if document.split == "shots" and group in tested:
            yield document.finding(
                "meta.group_id", f"the group {group} has rows in the test split too",
                "Give the shots groups of their own: they would give a test question's regionalism away.",
            )  # fmt: skip


def _letters(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    """One letter of four should be right about as often as the next; of several of six there is no such rule."""
    for split in ("test", "shots"):
        answered = [document for document in documents if document.split == split and document.reference]
        counts = letter_counts(answered, benchmark)
        if len(answered) < _FEW or not counts:
            continue
        most, least = max(counts, key=lambda x: counts[x]), min(counts, key=lambda x: counts[x])
        alone = all(len(right_letters(document, benchmark)) == 1 for document in answered)
        if not counts[least] or (alone and counts[most] > 2 * counts[least]):
            spread = ", ".join(f"{letter} {count}" for letter, count in counts.items())
            yield Finding.on_whole(
                answered[0].place, f"the right letters are out of balance ({spread})",
                f"Shuffle the options: a model that always answers {most} gains by it.", "outputs",
            )  # fmt: skip


def _prompts(documents: Sequence[Document], benchmark: Benchmark) -> Iterator[Finding]:
    test = [document for document in documents if document.split == "test"]
    for kind, counts in prompt_counts(test, benchmark).items():
        if counts[0] - counts[-1] > 1:
            what = "the prompts are spread unevenly" + ("" if kind == "all" else f" over type {kind}")
            rows = ", ".join(map(str, counts[:8])) + (", …" if len(counts) > 8 else "")
            yield Finding.on_whole(
                test[0].place, f"{what} ({rows} rows a prompt)",
                "Give each prompt of a type as many rows, up to one.", "instruction",
            )  # fmt: skip


_CHECKS: tuple[Check, ...] = (
    _placeholders, _mixed_scripts, _units, _repeated_answers, _same_options, _doubles, _groups, _letters, _prompts,
)  # fmt: skip
