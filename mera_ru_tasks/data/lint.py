"""Find what a run accepts but a dataset's author should look at. Each check finds one kind of mistake."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from mera_ru_tasks.data.benchmarks import PROMPT_BLOCKS, Benchmark
from mera_ru_tasks.data.schema import PlacedRow, format_of, split_reference
from mera_ru_tasks.harness.prompt import placeholders, unfilled
from mera_ru_tasks.issues import Issue, Location
from mera_ru_tasks.scoring.normalize import normalize
from mera_ru_tasks.scoring.strict import accepted_answers

Check = Callable[[Sequence[PlacedRow], Benchmark], Iterator[Issue]]

_WORD = re.compile(r"\w+")
_LATIN, _CYRILLIC = re.compile("[A-Za-z]"), re.compile("[А-Яа-яЁё]")


def lint(rows: Sequence[PlacedRow], benchmark: Benchmark) -> list[Issue]:
    """Return a warning for each mistake in valid rows; the same mistake in several rows is one issue with a count."""
    return _merge(issue for check in _CHECKS for issue in check(rows, benchmark))


def check_size(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Compare the size of the test split with the card. This makes sense only if every row is valid."""
    test = [row for row in rows if row.split == "test"]
    counts = Counter(row.kind(benchmark) for row in test)
    card = {"all" if kind is None else str(kind): size for kind, size in benchmark.test_size.items()}
    differing = [kind for kind, size in card.items() if counts[kind] != size]
    if test and differing:
        sizes = "; ".join(
            f"{'' if kind == 'all' else f'type {kind}: '}{counts[kind]} rows, according to the card {card[kind]}"
            for kind in differing
        )
        yield Issue(
            "other-size", "warning", Location(test[0].file), f"the test split is not the whole test set ({sizes})",
            "Compare its scores only with scores on the same rows.",
        )  # fmt: skip


def _warn(code: str, row: PlacedRow, field: str, message: str, hint: str) -> Issue:
    return Issue(code, "warning", row.at(field), message, hint)


def _merge(issues: Iterable[Issue]) -> list[Issue]:
    """Join issues that differ only in the row into one that counts them, located at the first row."""
    alike: dict[tuple[str, str, str], list[Issue]] = {}
    for issue in issues:
        assert isinstance(issue.location, Location)
        alike.setdefault((issue.location.file, issue.location.field, issue.message), []).append(issue)
    return [
        Issue(first.code, first.severity, first.location, first.message, first.hint, len(group))
        for group in alike.values()
        for first in group[:1]
    ]


def _placeholders(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        instruction, inputs = row.content["instruction"], row.inputs
        for name in unfilled(instruction, inputs):
            yield _warn(
                "unfilled-placeholder", row, "instruction", f"no input fills the placeholder {{{name}}}",
                "Write the placeholder exactly as an input is named, or fill that input.",
            )  # fmt: skip
        for name in sorted(inputs.keys() - placeholders(instruction)):
            yield _warn(
                "unused-input", row, f"inputs.{name}", "it has a value, but no placeholder of the instruction shows it",
                f"Add {{{name}}} to the prompt, or remove the input.",
            )  # fmt: skip


def _mixed_alphabets(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        for word in _WORD.findall(row.reference):
            latin = "".join(_LATIN.findall(word))
            if latin and _CYRILLIC.search(word):
                yield _warn(
                    "mixed-alphabets", row, "outputs", f"the word {word!r} mixes Cyrillic with the Latin {latin!r}",
                    "Write the word in one alphabet: otherwise no correct answer matches it.",
                )  # fmt: skip


def _phrases(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Check that the language unit is part of the correct option (as the prompts of types 2 and 3 require)."""
    for row in rows:
        answer_format = format_of(row.content, benchmark)
        if row.reference and answer_format is not None and answer_format.with_phrase:
            letters, phrase = split_reference(row.reference, answer_format)
            name = f"option_{'abcdefghi'[answer_format.choices.index(letters[0])]}"
            option = row.inputs.get(name, "")
            if option and normalize(phrase) in normalize(option) and phrase not in option:
                yield _warn(
                    "phrase-case", row, "outputs",
                    f"the phrase {phrase!r} is written differently in the correct option, inputs.{name}",
                    "Nothing needs to be done: capitals and punctuation are not compared.",
                )  # fmt: skip
            if option and normalize(phrase) not in normalize(option):
                yield _warn(
                    "phrase-not-in-option", row, "outputs",
                    f"the phrase {phrase!r} is not part of the correct option, inputs.{name}",
                    "Copy the phrase from the option's text, or correct the letter.",
                )  # fmt: skip


def _repeated_answers(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        answer_format = format_of(row.content, benchmark)
        if answer_format is not None and answer_format.is_list:
            counts = Counter(accepted_answers(row.reference, phrase=True))
            for answer, count in counts.items():
                if count > 1:
                    message = f"the answer {answer!r} is listed {count} times"
                    yield _warn("repeated-answer", row, "outputs", message, "Keep it once.")


def _same_options(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        seen: dict[str, str] = {}
        for name, value in row.inputs.items():
            if not name.startswith("option_"):
                continue
            first = seen.setdefault(normalize(value), name)
            if first != name:
                message = f"it has the same text as {first}"
                yield _warn("same-options", row, f"inputs.{name}", message, "Write options that differ.")


def _duplicates(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Find questions that occur twice in a split, or nearly the same in test and shots.

    Inputs with the same value in several rows are compared only within a split, since they are a shared context.
    """
    values = Counter(item for row in rows for item in row.inputs.items())
    shared = {item for item, count in values.items() if count >= _SHARED}
    seen: dict[tuple[str, str, str], PlacedRow] = {}
    for row in rows:
        first = seen.setdefault((row.split, row.kind(benchmark), _question(row, set())), row)
        if first is not row:
            message = f"it repeats the question of row {first.number} (id {first.id})"
            yield _warn("duplicate-question", row, "inputs", message, "Keep one of the rows.")
    test = [row for row in rows if row.split == "test"]
    shots = [row for row in rows if row.split == "shots"]
    nearest: dict[int, tuple[float, int]] = {}
    for index, other, share in near_duplicates(
        [_question(row, shared) for row in test], [_question(row, shared) for row in shots]
    ):
        nearest[index] = max(nearest.get(index, (0.0, 0)), (share, -other))
    for index, (share, place) in nearest.items():
        shot = shots[-place]
        yield _warn(
            "near-duplicate", test[index], "inputs",
            f"it is nearly the shot in row {shot.number} (id {shot.id}): {share:.0%} of the text is shared",
            "Replace one of them: as an example, the shot would reveal the answer.",
        )  # fmt: skip


# A value in this many rows is not the question of one row.
_SHARED = 3


def _question(row: PlacedRow, shared: Collection[tuple[str, str]]) -> str:
    items = (item for item in sorted(row.inputs.items()) if item[0] not in PROMPT_BLOCKS and item not in shared)
    return "\n".join(value for _, value in items)


def _groups(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    if not benchmark.grouped:
        return
    tested = {row.content["meta"]["group_id"] for row in rows if row.split == "test"}
    for row in rows:
        group = row.content["meta"]["group_id"]
        if row.split == "shots" and group in tested:
            yield _warn(
                "shared-group", row, "meta.group_id", f"the group {group} also has rows in the test split",
                "Use separate groups for the shots: as examples, they would reveal what the test group asks.",
            )  # fmt: skip


_CHECKS: tuple[Check, ...] = (
    _placeholders, _mixed_alphabets, _phrases, _repeated_answers, _same_options, _duplicates, _groups,
)  # fmt: skip

_SHINGLE = 5
# Two texts that share this much differ by a word or two; different texts on one subject share far less.
NEAR = 0.7


def near_duplicates(texts: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Find pairs of nearly the same text.

    Two texts are compared by their resemblance, the Jaccard index of their sets of character sequences (Broder 1997,
    "On the resemblance and containment of documents"), after normalisation.

    Args:
        texts: each is compared with
        others: each of these.

    Yields:
        Index in `texts`, index in `others`, and the resemblance (0 to 1), if it is at least `NEAR`.
    """
    sets = [_shingles(text) for text in others]
    holders: dict[str, list[int]] = defaultdict(list)
    for index, known in enumerate(sets):
        for shingle in known:
            holders[shingle].append(index)
    for position, text in enumerate(texts):
        own = _shingles(text)
        shared = Counter(index for shingle in own if shingle in holders for index in holders[shingle])
        for index, common in shared.items():
            resemblance = common / (len(own) + len(sets[index]) - common)
            if resemblance >= NEAR:
                yield position, index, resemblance


def _shingles(text: str) -> set[str]:
    """Return the sequences of five characters in the normalised text; a shorter text is one sequence."""
    plain = normalize(text)
    return {plain[i : i + _SHINGLE] for i in range(max(1, len(plain) - _SHINGLE + 1))} if plain else set()
