"""Which test rows a submission must answer: those of the data where they can be had, else as many as the card says."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import Benchmark
from mera_ru_tasks.data.load import rows_at_hand
from mera_ru_tasks.paths import expanded
from mera_ru_tasks.submission.problems import Problem, name_ids


@dataclass(frozen=True)
class Expected:
    """The test rows of a benchmark.

    Attributes:
        benchmark: which one.
        place: the file or hub split they are in; empty where no data are at hand.
        rows: the rows by `meta.id`; None where no data are at hand.
    """

    benchmark: Benchmark
    place: str = ""
    rows: Mapping[int, Mapping[str, Any]] | None = None

    @property
    def size(self) -> int | None:
        """How many test rows the card counts; None where there is no card, for a user's own dataset."""
        return sum(self.benchmark.test_size.values()) or None


def expected_rows(benchmark: Benchmark, data: Path | None = None) -> Expected:
    """Find the test rows without a download: in `data`, MERA_RU_DATA or the cache of `datasets`.

    A user's own dataset is where its task says, if that is a folder on this machine.

    Raises:
        DataError: a local folder is named, but its data are missing or wrong.
    """
    if benchmark.path and not expanded(benchmark.path).is_dir():
        benchmark = replace(benchmark, path=None)
    splits = rows_at_hand(benchmark, data=data)
    if not splits or "test" not in splits:
        return Expected(benchmark)
    place, rows = splits["test"]
    return Expected(benchmark, place, {row["meta"]["id"]: row for row in rows})


def unchecked_ids(unchecked: Sequence[Expected]) -> str:
    """What to know of benchmarks whose data are not at hand."""
    names = ", ".join(expected.benchmark.title for expected in unchecked)
    counted = "only counted" if unchecked[0].size is not None else "not checked"
    return (
        f"{names}: no data are at hand, so ids were {counted}. To have each checked, name data with --data DIR or "
        "MERA_RU_DATA."
    )


def check_ids(ids: Collection[int], expected: Expected, task: str, place: str) -> Iterator[Problem]:
    """Check that every test id is answered and no other."""
    if expected.rows is None:
        if expected.size is not None and len(ids) != expected.size:
            yield Problem(
                task, place, f"{len(ids)} ids are answered; {expected.benchmark.title} has {expected.size}",
                "Run the whole test set again, without --limit and --samples.", hole=len(ids) < expected.size,
            )  # fmt: skip
        return
    if missing := expected.rows.keys() - ids:
        yield Problem(
            task, place,
            f"not answered: {name_ids(missing)} of {expected.place} ({len(missing)} of {len(expected.rows)})",
            "Run the whole test set again, without --limit and --samples.", hole=True,
        )  # fmt: skip
    if foreign := set(ids) - expected.rows.keys():
        yield Problem(
            task, place, f"not in {expected.place}: {name_ids(foreign)}",
            "Run on the test set that is submitted, or name the data that the run had with --data.",
        )  # fmt: skip
    if expected.size is not None and len(expected.rows) != expected.size:
        yield Problem(
            task, expected.place, f"it has {len(expected.rows)} rows; by its card {expected.benchmark.title} has "
            f"{expected.size}", "Name the whole test set with --data or MERA_RU_DATA.", hole=True,
        )  # fmt: skip


def check_questions(
    docs: Mapping[int, Mapping[str, Any]], expected: Expected, task: str, place: str
) -> Iterator[Problem]:
    """Check that the documents that were run are the expected rows, text for text."""
    rows = expected.rows or {}
    other = [identity for identity, doc in docs.items() if identity in rows and _text(doc) != _text(rows[identity])]
    if other:
        yield Problem(
            task, place, f"run with another instruction or other inputs than in {expected.place}: {name_ids(other)}",
            "Run again on these data, or name the data that the run had with --data.",
        )  # fmt: skip


def _text(row: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    inputs = row.get("inputs")
    filled = {name: value for name, value in inputs.items() if value} if isinstance(inputs, Mapping) else {}
    return row.get("instruction"), filled
