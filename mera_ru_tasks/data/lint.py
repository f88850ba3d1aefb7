"""Check the data of a benchmark: report errors, likely mistakes in valid rows, and sizes that differ from the card."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, PROMPT_BLOCKS, Benchmark
from mera_ru_tasks.data.files import SPLITS
from mera_ru_tasks.data.hub import check_files
from mera_ru_tasks.data.load import Source, Splits
from mera_ru_tasks.data.schema import PlacedRow, check_rows, format_of, split_reference
from mera_ru_tasks.harness.prompt import placeholders, unfilled
from mera_ru_tasks.issues import DataError, Issue, Location, errors, shortened
from mera_ru_tasks.scoring.normalize import normalize
from mera_ru_tasks.scoring.strict import accepted_answers

Check = Callable[[Sequence[PlacedRow], Benchmark], Iterator[Issue]]

_WORD = re.compile(r"\w+")
_LATIN, _CYRILLIC = re.compile("[A-Za-z]"), re.compile("[А-Яа-яЁё]")


def lint(rows: Sequence[PlacedRow], benchmark: Benchmark) -> list[Issue]:
    """Return warnings about likely mistakes in valid rows; several rows with the same mistake share one warning."""
    return _merge(issue for check in _CHECKS for issue in check(rows, benchmark))


def check_size(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Warn if the size of the test split differs from the data card. Call this only if every row is valid."""
    test = [row for row in rows if row.split == "test"]
    counts = Counter(row.kind(benchmark) for row in test)
    card = {"all" if kind is None else str(kind): size for kind, size in benchmark.test_size.items()}
    differing = [kind for kind, size in card.items() if counts[kind] != size]
    if test and differing:
        sizes = "; ".join(
            f"{'' if kind == 'all' else f'type {kind}: '}{counts[kind]} instead of {card[kind]} rows"
            for kind in differing
        )
        yield Issue(
            "other-size", "warning", Location(test[0].file), f"the size differs from the data card ({sizes})",
            "Compare scores on these data only with scores on the same rows.",
        )  # fmt: skip


def _warn(code: str, row: PlacedRow, field: str, message: str, hint: str) -> Issue:
    return Issue(code, "warning", row.at(field), message, hint)


def _merge(issues: Iterable[Issue]) -> list[Issue]:
    """Merge issues that differ only in the row into one issue with the first location and a count."""
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
                "Correct the name in the placeholder, or fill the input.",
            )  # fmt: skip
        for name in sorted(inputs.keys() - placeholders(instruction)):
            yield _warn(
                "unused-input", row, f"inputs.{name}", "it has a value, but the instruction has no placeholder for it",
                f"Add {{{name}}} to the prompt, or remove the input.",
            )  # fmt: skip


def _mixed_alphabets(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        for word in _WORD.findall(row.reference):
            latin = "".join(_LATIN.findall(word))
            if latin and _CYRILLIC.search(word):
                yield _warn(
                    "mixed-alphabets", row, "outputs", f"the word {word!r} mixes Cyrillic with the Latin {latin!r}",
                    "Write the word in one alphabet. Otherwise no correct answer matches it.",
                )  # fmt: skip


def _phrases(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Check that the phrase is part of the correct option, as the prompts of types 2 and 3 require."""
    for row in rows:
        answer_format = format_of(row.content, benchmark)
        if row.reference and answer_format is not None and answer_format.with_phrase:
            letters, phrase = split_reference(row.reference, answer_format)
            names = answer_format.option_names(row.content["inputs"])
            name = names[answer_format.choices.index(letters[0])] if names else ""
            option = row.inputs.get(name, "")
            if option and normalize(phrase) in normalize(option) and phrase not in option:
                yield _warn(
                    "phrase-case", row, "outputs",
                    f"the phrase {phrase!r} differs in case or punctuation from the correct option, inputs.{name}",
                    "No action is needed: case and punctuation are ignored.",
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
            counts = Counter(accepted_answers(row.reference, is_list=True))
            for answer, count in counts.items():
                if count > 1:
                    message = f"the answer {answer!r} is listed {count} times"
                    yield _warn("repeated-answer", row, "outputs", message, "Remove the duplicates.")


def _same_options(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    for row in rows:
        seen: dict[str, str] = {}
        answer_format = format_of(row.content, benchmark) or PHRASE
        for name in answer_format.option_names(row.inputs):
            first = seen.setdefault(normalize(row.inputs[name]), name)
            if first != name:
                message = f"it has the same text as {first}"
                yield _warn("same-options", row, f"inputs.{name}", message, "Make the options different.")


def _duplicates(rows: Sequence[PlacedRow], benchmark: Benchmark) -> Iterator[Issue]:
    """Find questions that occur twice in a split, and test questions that are nearly the same as a shot.

    For near duplicates, inputs with the same value in several rows are ignored, because they are shared context.
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
    for index, (share, negative) in nearest.items():
        shot = shots[-negative]
        yield _warn(
            "near-duplicate", test[index], "inputs",
            f"it shares {share:.0%} of its text with the shot in row {shot.number} (id {shot.id})",
            "Replace the row or the shot. As an example, the shot would reveal the answer.",
        )  # fmt: skip


# A value that occurs in this many rows is shared context, not a question.
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
                "Use other groups for the shots. As examples, they would reveal the answers of the test group.",
            )  # fmt: skip


_CHECKS: tuple[Check, ...] = (
    _placeholders, _mixed_alphabets, _phrases, _repeated_answers, _same_options, _duplicates, _groups,
)  # fmt: skip

_SHINGLE = 5
# Texts with at least this resemblance differ by a word or two. Different texts on one subject have far less.
NEAR = 0.7


def near_duplicates(texts: Sequence[str], others: Sequence[str]) -> Iterator[tuple[int, int, float]]:
    """Find pairs of texts that are nearly the same.

    Texts are compared by their resemblance: the Jaccard index of their sets of character sequences, after
    normalisation (Broder 1997, "On the resemblance and containment of documents").

    Args:
        texts: the texts to compare.
        others: the texts to compare them with.

    Yields:
        For each pair with a resemblance of at least `NEAR`: the index in `texts`, the index in `others`, and the
        resemblance, from 0 to 1.
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
    """Return the set of all sequences of five characters in the normalised text; a shorter text is one sequence."""
    plain = normalize(text)
    return {plain[i : i + _SHINGLE] for i in range(max(1, len(plain) - _SHINGLE + 1))} if plain else set()


@dataclass(frozen=True)
class Report:
    """The result of `data check`.

    Attributes:
        source: the data that were checked.
        issues: the errors, which stop a run, and the warnings.
        statistics: the result of `count` for the valid rows. In addition, `stored` maps each split to its number of
            rows, valid or not.
    """

    source: Source
    issues: Sequence[Issue]
    statistics: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "benchmark": self.source.benchmark.name,
            "location": self.source.location,
            "issues": [issue.as_json() for issue in shortened(self.issues)],
            "statistics": dict(self.statistics),
        }


def check_data(source: Source) -> Report:
    """Read and check all data of a benchmark, and report every issue instead of stopping at the first.

    Raises:
        DataError: the hub cannot be read. An unreadable file is reported as an issue instead.
    """
    issues = list(check_files(source.folder)) if source.folder else []
    try:
        splits, found = source.read()
    except DataError as error:
        if source.folder is None:  # the data on the hub may still be valid
            raise
        message = str(error).removesuffix(".")
        return Report(source, [*issues, Issue("unreadable", "error", Location(source.location), message)], {})
    found += check_rows(splits, source.benchmark)
    issues += _merge_warnings(found)
    issues += _check_splits(splits, source)
    rows = _valid_rows(splits, found)
    issues += lint(rows, source.benchmark)
    if not errors(found) and not source.is_shipped:
        issues += check_size(rows, source.benchmark)
    counts = count(rows, source.benchmark)
    counts["stored"] = {split: len(stored) for split, (_, stored) in splits.items()}
    return Report(source, issues, counts)


def _merge_warnings(issues: Sequence[Issue]) -> list[Issue]:
    """Return the unchanged errors, and one warning with a count for each rule, file and field."""
    merged: dict[tuple[str, str, str], Issue] = {}
    for issue in issues:
        at = issue.location
        if issue.severity == "warning" and isinstance(at, Location):
            first = merged.setdefault((issue.code, at.file, at.field), issue)
            if first is not issue:
                merged[issue.code, at.file, at.field] = replace(first, count=first.count + 1)
    return [*errors(issues), *merged.values()]


def _valid_rows(splits: Splits, issues: Iterable[Issue]) -> list[PlacedRow]:
    invalid = {(at.file, at.row) for issue in errors(issues) if isinstance(at := issue.location, Location)}
    return [
        PlacedRow(split, file, number, row)
        for split, (file, rows) in splits.items()
        for number, row in enumerate(rows, start=1)
        if (file, number) not in invalid
    ]


def _check_splits(splits: Splits, source: Source) -> list[Issue]:
    if "test" not in splits:
        message = f"the split `test` is missing (splits found: {', '.join(splits) or 'none'})"
        hint = "Add test.json, test.jsonl, test.parquet, or a copy made by save_to_disk."
        return [Issue("missing-split", "error", Location(source.location), message, hint)]
    file, rows = splits["test"]
    return [] if rows else [Issue("no-rows", "error", Location(file), "it contains no rows", "Add the test rows.")]


def count(rows: Sequence[PlacedRow], benchmark: Benchmark) -> dict[str, Any]:
    """Count rows, types, answers, groups and prompts.

    Args:
        rows: the valid rows of all splits.
        benchmark: the benchmark of the rows.

    Returns:
        A JSON object, without the keys that do not apply:

            rows        a mapping from each split to its number of rows
            closed      a mapping from each split to its number of rows without a reference
            types       a mapping from each type to its number of rows in each split and in the data card
            letters     a mapping from each letter to the number of rows in which it is correct
            answers     a mapping from 1, 2, … to the number of rows with that number of correct letters or phrases
            groups      a mapping from each group size to the number of groups in the test split
            prompts     a mapping from each type to the numbers of test rows per prompt, in descending order
            answers_of  the split counted in `letters` and `answers`: `test`, or `shots` if all test answers are closed
    """
    test = [row for row in rows if row.split == "test"]
    answered = [row for row in test if row.reference]
    shots = [row for row in rows if row.split == "shots" and row.reference]
    counted = answered or shots
    found: dict[str, Any] = {
        "rows": {split: sum(row.split == split for row in rows) for split in SPLITS},
        "closed": {split: sum(row.split == split and not row.reference for row in rows) for split in SPLITS},
        "types": _types(rows, benchmark),
        "answers_of": "test" if answered else "shots",
        "answers": _sorted_counts(_number_of_answers(row, benchmark) for row in counted),
        "prompts": _prompt_counts(test, benchmark),
    }
    # The letters of each type start at А, so the longest list contains the others.
    letters = max((answer_format.choices for answer_format in benchmark.formats.values()), key=len)
    if letters:
        right = Counter(letter for row in counted for letter in _right_letters(row, benchmark))
        found["letters"] = {letter: right[letter] for letter in letters}
    if benchmark.grouped:
        found["groups"] = _sorted_counts(Counter(row.content["meta"]["group_id"] for row in test).values())
    return found


def _right_letters(row: PlacedRow, benchmark: Benchmark) -> list[str]:
    return split_reference(row.reference, format_of(row.content, benchmark) or PHRASE)[0]


def _prompt_counts(rows: Iterable[PlacedRow], benchmark: Benchmark) -> dict[str, list[int]]:
    prompts: dict[str, Counter[tuple[str, ...]]] = {}
    for row in rows:
        prompt = (row.content["instruction"], *(row.inputs.get(name, "") for name in PROMPT_BLOCKS))
        prompts.setdefault(row.kind(benchmark), Counter())[prompt] += 1
    return {kind: sorted(counts.values(), reverse=True) for kind, counts in sorted(prompts.items())}


def _types(rows: Sequence[PlacedRow], benchmark: Benchmark) -> dict[str, Mapping[str, int]]:
    counts = Counter((row.split, row.kind(benchmark)) for row in rows)
    sizes = {"all" if kind is None else str(kind): size for kind, size in benchmark.test_size.items()}
    return {kind: {**{split: counts[split, kind] for split in SPLITS}, "card": size} for kind, size in sizes.items()}


def _number_of_answers(row: PlacedRow, benchmark: Benchmark) -> int:
    answer_format = format_of(row.content, benchmark) or PHRASE
    if answer_format.choices:
        return len(_right_letters(row, benchmark))
    return len(accepted_answers(row.reference, is_list=answer_format.is_list))


def _sorted_counts(values: Iterable[int]) -> dict[str, int]:
    return {str(value): number for value, number in sorted(Counter(values).items())}
