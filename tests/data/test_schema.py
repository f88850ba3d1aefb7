"""Every rule for rows: a run stops at the row, and `data check` names the row, the field and the rule."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.data.lint import check_data
from mera_ru_tasks.data.load import find_source, load
from mera_ru_tasks.data.schema import RULES
from mera_ru_tasks.issues import Issue, Location, errors
from tests.support.broken_rows import BROKEN_ROWS, without, write_broken_row
from tests.support.load import message
from tests.support.rows import data_folder, enantiosemy, region, riddle


def error_of(root: Path, benchmark: Benchmark) -> Issue:
    """Return the only error in the data. A run must stop at the same location."""
    [issue] = errors(check_data(find_source(benchmark, root)).issues)
    assert message(root, benchmark).startswith(str(issue.location).replace(str(root), "ROOT"))
    assert issue.message and issue.hint
    return issue


@pytest.mark.parametrize(("benchmark", "row", "field", "code"), BROKEN_ROWS, ids=range(len(BROKEN_ROWS)))
def test_each_rule_stops_a_run_or_warns(tmp_path: Path, benchmark: Benchmark, row: Any, field: str, code: str) -> None:
    root = write_broken_row(tmp_path, benchmark, row)
    if RULES[code].severity == "error":
        issue = error_of(root, benchmark)
    else:
        issues = check_data(find_source(benchmark, root)).issues
        [issue] = [issue for issue in issues if issue.code in RULES]
        assert len(load(benchmark, data=root)["test"]) == 2
    meta = row.get("meta") if isinstance(row, dict) else None
    identity = meta.get("id") if isinstance(meta, dict) else None
    identity = 2 if code == "text-as-number" else identity if type(identity) is int else None
    file = str(tmp_path / benchmark.name / "test.json")
    assert (issue.code, issue.severity, issue.location) == (
        code, RULES[code].severity, Location(file, 2, identity, field),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("benchmark", "row", "is_list"),
    [(ENANTIOSEMY, enantiosemy(2, "Ж"), True), (RUSSIAN_REGIONS, region(2, "Ж"), False)],
)
def test_only_several_letters_need_an_order(tmp_path: Path, benchmark: Benchmark, row: Any, is_list: bool) -> None:
    hint = error_of(write_broken_row(tmp_path, benchmark, row), benchmark).hint
    assert ("order" in hint, "separated" in hint) == (is_list, is_list)


def test_the_cases_cover_every_rule() -> None:
    elsewhere = {"unknown-prompt", "wrong-options", "shared-id"}  # tested in test_files.py, test_examples.py and here
    assert {code for *_, code in BROKEN_ROWS} == RULES.keys() - elsewhere


def test_harmless_forms_become_the_required_ones(tmp_path: Path) -> None:
    rows = [riddle(1, 42), riddle(2), without(riddle(3), "outputs")]
    rows[1]["meta"]["id"], rows[1]["inputs"]["question"] = "2", 7
    loaded = load(RIDDLES_CLOSED, data=data_folder(tmp_path, "riddles", rows))["test"]
    assert [(doc["meta"]["id"], doc["inputs"]["question"], doc["outputs"]) for doc in loaded] == [
        (1, "Загадка 1?", "42"), (2, "7", "Снег; Первый снег"), (3, "Загадка 3?", ""),
    ]  # fmt: skip


def test_a_field_that_cannot_be_stored_is_left_out_and_others_are_kept(tmp_path: Path) -> None:
    rows = [riddle(1, origin="книга", year=1), riddle(2, origin=5, year=2.5), riddle(3, deep=float("nan"))]
    loaded = load(RIDDLES_CLOSED, data=data_folder(tmp_path, "riddles", rows))["test"]
    assert [doc["meta"] for doc in loaded] == [{"id": 1, "year": 1}, {"id": 2, "year": 2.5}, {"id": 3, "year": None}]


def test_an_id_in_test_and_shots_is_a_warning(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2)], shots=[riddle(3), riddle(2)])
    [issue] = [issue for issue in check_data(find_source(RIDDLES_CLOSED, root)).issues if issue.code in RULES]
    assert (issue.code, issue.severity, issue.location) == (
        "shared-id", "warning", Location(str(root / "riddles" / "shots.json"), 2, 2, "meta.id"),
    )  # fmt: skip
    assert f"{root / 'riddles' / 'test.json'}, row 2" in issue.message
    assert [len(docs) for docs in load(RIDDLES_CLOSED, data=root).values()] == [2, 2]


def test_the_first_error_is_shown_and_the_rest_counted(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, "!"), riddle(2, "?"), riddle(3, "."), riddle(4)])
    text = message(root, RIDDLES_CLOSED)
    assert text.startswith("ROOT/riddles/test.json, row 1 (id 1), field `outputs`: ") and "(2 more errors" in text
