"""Report on one benchmark's data: everything that is wrong, and counts beside what the card says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, PROMPT_BLOCKS, Benchmark
from mera_ru_tasks.data.fetch import check_files
from mera_ru_tasks.data.files import SPLITS
from mera_ru_tasks.data.lint import check_size, lint
from mera_ru_tasks.data.load import Source, Splits
from mera_ru_tasks.data.schema import PlacedRow, check_rows, format_of, split_reference
from mera_ru_tasks.errors import DataError
from mera_ru_tasks.issues import Issue, Location, errors
from mera_ru_tasks.paths import sample_folder
from mera_ru_tasks.scoring.strict import accepted_answers


@dataclass(frozen=True)
class Report:
    """What `data check` found.

    Attributes:
        source: what was checked.
        issues: errors, which stop a run, and warnings.
        statistics: see `count`; over the valid rows, with `stored`, the number of all rows of each split.
    """

    source: Source
    issues: Sequence[Issue]
    statistics: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        return {
            "benchmark": self.source.benchmark.name,
            "location": self.source.location,
            "issues": [issue.as_json() for issue in self.issues],
            "statistics": dict(self.statistics),
        }


def check_data(source: Source) -> Report:
    """Read a benchmark's data and check all of them; every issue is reported, not only the first.

    Raises:
        DataError: the hub fails. A file that cannot be read is an issue of the report.
    """
    issues = list(check_files(source.folder)) if source.folder else []
    try:
        splits, found = source.read()
    except DataError as error:
        if source.folder is None:  # the hub fails, not the data
            raise
        message = str(error).removesuffix(".")
        return Report(source, [*issues, Issue("unreadable", "error", Location(source.location), message)], {})
    found += check_rows(splits, source.benchmark)
    issues += _merge_warnings(found)
    issues += _check_splits(splits, source)
    rows = _valid_rows(splits, found)
    issues += lint(rows, source.benchmark)
    if not errors(found) and not _is_shipped(source):
        issues += check_size(rows, source.benchmark)
    counts = count(rows, source.benchmark)
    counts["stored"] = {split: len(stored) for split, (_, stored) in splits.items()}
    return Report(source, issues, counts)


def _is_shipped(source: Source) -> bool:
    """Return True for the package's own sample data, which are meant to be smaller than the card says."""
    return source.folder is not None and source.folder.resolve().is_relative_to(sample_folder())


def _merge_warnings(issues: Sequence[Issue]) -> list[Issue]:
    """Return errors as they are, and one warning for each rule, file and field, with a count."""
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
        message = f"there is no split `test` (splits found: {', '.join(splits) or 'none'})"
        hint = "Add test.json, test.jsonl, test.parquet, or a copy made by save_to_disk."
        return [Issue("missing-split", "error", Location(source.location), message, hint)]
    file, rows = splits["test"]
    return [] if rows else [Issue("no-rows", "error", Location(file), "it holds no rows", "Add the test rows to it.")]


def count(rows: Sequence[PlacedRow], benchmark: Benchmark) -> dict[str, Any]:
    """Count what the data contain.

    Args:
        rows: the valid rows of all splits.
        benchmark: which one.

    Returns:
        JSON values: `rows` and `closed` (rows without a reference) by split; `types`, for each the rows by split and
        according to the card; `letters`, how often each is correct; `answers`, how many rows accept 1, 2, … letters or
        phrases; `groups`, how many of each size the test split has; `prompts`, for each type the rows of each prompt in
        the test split, most first. What a benchmark does not have is absent. Letters and answers are those of the test
        split, or of the shots if the test answers are closed (`answers_of` says which).
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
    # All types share the first letters, so the longest list holds all.
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
    return len(accepted_answers(row.reference, phrase=answer_format.is_list))


def _sorted_counts(values: Iterable[int]) -> dict[str, int]:
    return {str(value): number for value, number in sorted(Counter(values).items())}
