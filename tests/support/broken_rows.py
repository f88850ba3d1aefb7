"""Rows that each break one rule: the benchmark, the row, the field in the issue, and the rule's code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from tests.support.rows import Row, data_folder, enantiosemy, region, riddle


def without(row: Row, *path: str) -> Row:
    """Return the row without one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return row


def with_value(row: Row, value: Any, *path: str) -> Row:
    """Return the row with another value in one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return row


BROKEN_ROWS: list[tuple[Benchmark, Any, str, str]] = [
    # Values that are not rows, and missing fields.
    *((RIDDLES_CLOSED, value, "row", "row-type") for value in ("a", None, [])),
    (RIDDLES_CLOSED, without(riddle(2), "instruction"), "instruction", "missing-field"),
    (RIDDLES_CLOSED, without(riddle(2), "inputs"), "inputs", "missing-field"),
    (RIDDLES_CLOSED, without(riddle(2), "outputs"), "outputs", "missing-outputs"),
    (RIDDLES_CLOSED, without(riddle(2), "meta"), "meta", "missing-field"),
    (RIDDLES_CLOSED, without(riddle(2), "meta", "id"), "meta.id", "missing-field"),
    (RIDDLES_CLOSED, without(riddle(2), "inputs", "question"), "inputs.question", "empty-field"),
    (ENANTIOSEMY, without(enantiosemy(2), "inputs", "option_f"), "inputs.option_f", "empty-field"),
    (ENANTIOSEMY, without(enantiosemy(2), "meta", "type"), "meta.type", "missing-field"),
    (RUSSIAN_REGIONS, without(region(2), "meta", "group_id"), "meta.group_id", "missing-field"),
    (RUSSIAN_REGIONS, without(region(2), "meta", "task_type"), "meta.task_type", "missing-field"),
    # Wrong types.
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "instruction"), "instruction", "wrong-type")
      for value in (None, True, 1.5, [], {})),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "inputs"), "inputs", "wrong-type") for value in ("q", [])),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "meta"), "meta", "wrong-type") for value in ("2", [])),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "meta", "id"), "meta.id", "wrong-type")
      for value in ("two", 2.5, True, [2])),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "meta", "id"), "meta.id", "text-as-number")
      for value in ("2", 2.0)),
    (RIDDLES_CLOSED, with_value(riddle(2), 7, "inputs", "question"), "inputs.question", "number-as-text"),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "inputs", "question"), "inputs.question", "wrong-type")
      for value in (7.5, True, ["a"])),
    (RIDDLES_CLOSED, riddle(2, 42), "outputs", "number-as-text"),
    (RIDDLES_CLOSED, with_value(riddle(2), ["Снег"], "outputs"), "outputs", "wrong-type"),
    (RUSSIAN_REGIONS, with_value(region(2), "0", "meta", "group_id"), "meta.group_id", "text-as-number"),
    (RUSSIAN_REGIONS, with_value(region(2), "a", "meta", "group_id"), "meta.group_id", "wrong-type"),
    (ENANTIOSEMY, with_value(enantiosemy(2), "1", "meta", "type"), "meta.type", "text-as-number"),
    # Empty texts.
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "instruction"), "instruction", "empty-field")
      for empty in ("", " \n\t")),
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "inputs", "question"), "inputs.question", "empty-field")
      for empty in ("", " ", None)),
    (RUSSIAN_REGIONS, with_value(region(2), None, "inputs", "option_a"), "inputs.option_a", "empty-field"),
    (RUSSIAN_REGIONS, with_value(without(region(2), "inputs", "option_d"), "{option_a}", "instruction"),
     "inputs.option_d", "absent-input"),
    # Types and ids.
    (ENANTIOSEMY, enantiosemy(2, type=5), "meta.type", "unknown-type"),
    (RUSSIAN_REGIONS, region(2, task_type=0), "meta.task_type", "unknown-type"),
    (RIDDLES_CLOSED, riddle(1), "meta.id", "duplicate-id"),
    # References.
    (RIDDLES_CLOSED, riddle(2, "; !; «»"), "outputs", "no-answer"),
    *((ENANTIOSEMY, enantiosemy(2, reference), "outputs", "unknown-choice")
      for reference in ("А; Ж", "A; Е", "А Б", "АБ", "А и Б")),
    *((ENANTIOSEMY, enantiosemy(2, reference), "outputs", "reference-form")
      for reference in ("А;Е", "А;  Б", "А, Б", "А; ", "а; б", "А.", "А ;Е")),
    (ENANTIOSEMY, enantiosemy(2, "Е; А"), "outputs", "unordered-choices"),
    (ENANTIOSEMY, enantiosemy(2, "А; А"), "outputs", "repeated-choice"),
    *((RUSSIAN_REGIONS, region(2, reference), "outputs", "unknown-choice") for reference in ("Д", "Б; файл")),
    (RUSSIAN_REGIONS, region(2, "А; Б"), "outputs", "too-many-choices"),
    *((RUSSIAN_REGIONS, region(2, reference, kind=2), "outputs", "unknown-choice")
      for reference in ("B; файл", "файл")),
    *((RUSSIAN_REGIONS, region(2, reference, kind=2), "outputs", "reference-form")
      for reference in ("В;лента", "в; лента", "В, лента", "В ; лента", "В;  лента")),
    *((RIDDLES_CLOSED, riddle(2, reference), "outputs", "reference-form") for reference in ("Снег;Лёд", "Снег; Лёд;")),
    (RUSSIAN_REGIONS, region(2, "Б", kind=2), "outputs", "missing-phrase"),
    (RUSSIAN_REGIONS, region(2, "Б; —", kind=3), "outputs", "missing-phrase"),
    # Values that JSON can express but documents cannot store.
    (RIDDLES_CLOSED, riddle(2, "Сне\ud800г"), "outputs", "unstorable-value"),
    (RIDDLES_CLOSED, with_value(riddle(2), "\udc00", "inputs", "question"), "inputs.question", "unstorable-value"),
    (RIDDLES_CLOSED, with_value(riddle(2), "{question}\ud800", "instruction"), "instruction", "unstorable-value"),
    (RIDDLES_CLOSED, with_value(riddle(2), "a", "inputs", "x\ud83d"), "'inputs.x\\ud83d'", "unstorable-value"),
    (RIDDLES_CLOSED, riddle(2**63), "meta.id", "unstorable-value"),
    # Additional fields.
    (RIDDLES_CLOSED, riddle(2, source=["a", "\ud83d"]), "meta.source", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, **{"x\ud83d": 1}), "'meta.x\\ud83d'", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, year=10**30), "meta.year", "unstorable-meta"),
    *((RIDDLES_CLOSED, riddle(2, year=float(number)), "meta.year", "unstorable-meta")
      for number in ("nan", "inf", "-inf")),
    *((RIDDLES_CLOSED, riddle(2, source=json.loads("[" * depth + "]" * depth)), "meta.source", "unstorable-meta")
      for depth in (20, 400)),
    (RIDDLES_CLOSED, riddle(2, origin=5), "meta.origin", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, origin={"a": 1}), "meta.origin", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, tags=[1]), "meta.tags[]", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, of=[1, None, "a"]), "meta.of[]", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, of=[2**60, 1.5]), "meta.of[]", "unstorable-meta"),
    (RIDDLES_CLOSED, riddle(2, made={"by": [{"name": True}]}), "meta.made.by[].name", "unstorable-meta"),
]  # fmt: skip


def write_broken_row(root: Path, benchmark: Benchmark, row: Any) -> Path:
    """Write a data folder in which the second test row is broken."""
    good = {"enantiosemy": enantiosemy, "russian_regions": region}.get(benchmark.name, riddle)(
        1, origin="книга", tags=["зима"], made={"by": [{"name": "народ"}]}
    )
    return data_folder(root, benchmark.name, [good, row])
