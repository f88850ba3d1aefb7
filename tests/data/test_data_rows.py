"""Every rule on rows: a run stops at the row, and `data check` names row, field and rule."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.data.benchmarks import RIDDLES_CLOSED, Benchmark
from mera_ru_tasks.data.load import find_source
from mera_ru_tasks.data.schema import RULES
from mera_ru_tasks.data.summary import check_data
from mera_ru_tasks.issues import Issue, Location, errors
from tests.support.load import message
from tests.support.row_faults import FAULTS, write_fault
from tests.support.rows import data_folder, riddle


def error_of(root: Path, benchmark: Benchmark) -> Issue:
    """Return the one error that the data have; a run must stop at the same place."""
    [issue] = errors(check_data(find_source(benchmark, root)).issues)
    assert message(root, benchmark).startswith(str(issue.location).replace(str(root), "ROOT"))
    assert issue.message and issue.hint
    return issue


@pytest.mark.parametrize(("benchmark", "row", "field", "code"), FAULTS, ids=range(len(FAULTS)))
def test_each_broken_row(tmp_path: Path, benchmark: Benchmark, row: Any, field: str, code: str) -> None:
    issue = error_of(write_fault(tmp_path, benchmark, row), benchmark)
    meta = row.get("meta") if isinstance(row, dict) else None
    identity = meta.get("id") if isinstance(meta, dict) else None
    identity = identity if type(identity) is int else None
    file = str(tmp_path / benchmark.name / "test.json")
    assert (issue.code, issue.location) == (code, Location(file, 2, identity, field))


def test_the_cases_cover_every_rule() -> None:
    elsewhere = {"unknown-prompt", "nested-too-deep"}  # in this file, and in test_data_files.py
    assert {code for *_, code in FAULTS} == RULES.keys() - elsewhere


@pytest.mark.parametrize("depth", [20, 400])
def test_a_field_that_is_nested_too_deeply(tmp_path: Path, depth: int) -> None:
    deep = json.loads("[" * depth + "]" * depth)
    issue = error_of(data_folder(tmp_path, "riddles", [riddle(1, source=deep)]), RIDDLES_CLOSED)
    assert (issue.code, issue.location) == (
        "nested-too-deep", Location(str(tmp_path / "riddles" / "test.json"), 1, 1, "meta.source"),
    )  # fmt: skip


def test_an_id_occurs_in_test_and_shots(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)], shots=[riddle(3), riddle(2)])
    issue = error_of(root, RIDDLES_CLOSED)
    assert (issue.code, issue.location) == (
        "duplicate-id", Location(str(root / "riddles" / "shots.json"), 2, 2, "meta.id"),
    )  # fmt: skip
    assert f"{root / 'riddles' / 'test.json'}, row 2" in issue.message


def test_the_first_error_is_shown_and_the_rest_counted(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "!"), riddle(2, "?"), riddle(3, "."), riddle(4)])
    text = message(root, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles/test.json, row 1 (id 1), field `outputs`: ") and "(2 more errors" in text
