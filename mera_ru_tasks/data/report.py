"""One benchmark's data looked over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.data.checksums import changed_files
from mera_ru_tasks.data.findings import Document, Finding, merged
from mera_ru_tasks.data.lint import other_sizes, suspicions
from mera_ru_tasks.data.load import Splits
from mera_ru_tasks.data.schema import check_rows
from mera_ru_tasks.data.sources import Source
from mera_ru_tasks.data.summary import statistics
from mera_ru_tasks.errors import DataError


@dataclass(frozen=True)
class Report:
    """What is wrong and what is there.

    Attributes:
        source: what was looked at.
        problems: what the loader refuses.
        warnings: what looks wrong, alike ones of many rows joined.
        statistics: see `statistics.statistics`, over the rows that the loader takes, and `stored`, how many rows of any
            kind each split has.
    """

    source: Source
    problems: Sequence[Finding]
    warnings: Sequence[Finding]
    statistics: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """The report for machines."""
        return {
            "benchmark": self.source.benchmark.name,
            "place": self.source.place,
            "problems": [vars(finding) for finding in self.problems],
            "warnings": [vars(finding) for finding in self.warnings],
            "statistics": dict(self.statistics),
        }


def look_over(source: Source) -> Report:
    """Read a benchmark's data and check all of them, with every problem and not only the first."""
    problems = list(changed_files(source.folder)) if source.folder else []
    try:
        splits, found = source.read()
    except DataError as error:
        if source.folder is None:  # the hub, not the data, is what fails
            raise
        return Report(source, [*problems, Finding.on_whole(source.place, str(error), "")], [], {})
    found += check_rows(splits, source.benchmark)
    problems += map(Finding.of, found)
    problems += _missing(splits, source)
    documents = _documents(splits, {(problem.place, problem.row) for problem in found})
    warnings = list(suspicions(documents, source.benchmark))
    if not found:
        warnings += other_sizes(documents, source.benchmark)
    counts = statistics(documents, source.benchmark)
    counts["stored"] = {split: len(rows) for split, (_, rows) in splits.items()}
    return Report(source, problems, merged(warnings), counts)


def _documents(splits: Splits, refused: set[tuple[str, int]]) -> list[Document]:
    return [
        Document(split, place, number, row)
        for split, (place, rows) in splits.items()
        for number, row in enumerate(rows, start=1)
        if (place, number) not in refused
    ]


def _missing(splits: Splits, source: Source) -> list[Finding]:
    if "test" not in splits:
        there = ", ".join(splits) or "none"
        remedy = "Add test.json, test.jsonl, test.parquet, or a copy made by save_to_disk."
        return [Finding.on_whole(source.place, f"there is no split `test` (splits found: {there})", remedy)]
    place, rows = splits["test"]
    return [] if rows else [Finding.on_whole(place, "it holds no rows", "Put the test rows there.")]
