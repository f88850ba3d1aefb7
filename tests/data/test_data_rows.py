"""Every fault of a row has its message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.data.benchmarks import RIDDLES_CLOSED, Benchmark
from tests.support.load import message
from tests.support.row_faults import FAULTS, whole_message, write_fault
from tests.support.rows import data_folder, riddle


@pytest.mark.parametrize(("benchmark", "row", "expected"), FAULTS, ids=range(len(FAULTS)))
def test_faults_of_rows(tmp_path: Path, benchmark: Benchmark, row: Any, expected: str) -> None:
    root = write_fault(tmp_path, benchmark, row)
    assert message(root, benchmark) == whole_message(benchmark, expected)


@pytest.mark.parametrize("depth", [20, 400])
def test_a_field_that_is_nested_too_deeply(tmp_path: Path, depth: int) -> None:
    deep = json.loads("[" * depth + "]" * depth)
    root = data_folder(tmp_path, "riddles", [riddle(1, source=deep)])
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles/test.json, row 1 (id 1), field `meta.source`: it is nested too deeply. "
        "A row may be 16 objects and lists deep."
    )


def test_an_id_is_doubled_over_test_and_shots(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)], shots=[riddle(3), riddle(2)])
    assert message(root, RIDDLES_CLOSED) == (
        "ROOT/riddles/shots.json, row 2 (id 2), field `meta.id`: the id stands already in "
        "ROOT/riddles/test.json, row 2. Ids must differ over test and shots together: renumber one of the rows."
    )


def test_the_first_problem_is_shown_and_the_rest_counted(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "!"), riddle(2, "?"), riddle(3, "."), riddle(4)])
    assert message(root, RIDDLES_CLOSED).endswith(
        "joined by `; `. (2 more problems in these data; `mera-ru data check` lists them all.)"
    )
