"""Rows with one fault each, and what must be said of it, when they are loaded and when they are looked over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED, RUSSIAN_REGIONS, Benchmark
from tests.support.rows import Row, data_folder, enantiosemy, region, riddle

REGION_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г in alphabetical order, joined by `; `, as in `А`."
UNIT_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г in alphabetical order, joined by `; `, as in `А; единица`."
SIX_LETTERS = "Write capital Cyrillic letters of А, Б, В, Г, Д, Е in alphabetical order, joined by `; `, as in `А; Б`."


def without(row: Row, *path: str) -> Row:
    """The row without one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    return row


def with_value(row: Row, value: Any, *path: str) -> Row:
    """The row with another value in one field."""
    inner = row
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return row


FAULTS: list[tuple[Benchmark, Any, str]] = [
    # No row at all, and fields that are missing.
    (RIDDLES_CLOSED, "a",
     "field `row`: it is a string, not an object. Each row needs instruction, inputs, outputs and meta."),
    (RIDDLES_CLOSED, None,
     "field `row`: it is null, not an object. Each row needs instruction, inputs, outputs and meta."),
    (RIDDLES_CLOSED, without(riddle(2), "instruction"),
     "(id 2), field `instruction`: the field is missing. Add it, as a string."),
    (RIDDLES_CLOSED, without(riddle(2), "inputs"),
     "(id 2), field `inputs`: the field is missing. Add it, as an object."),
    (RIDDLES_CLOSED, without(riddle(2), "outputs"),
     "(id 2), field `outputs`: the field is missing. Add it, as a string."),
    (RIDDLES_CLOSED, without(riddle(2), "meta"), "field `meta`: the field is missing. Add it, as an object."),
    (RIDDLES_CLOSED, without(riddle(2), "meta", "id"), "field `meta.id`: the field is missing. Add it, as an integer."),
    (RIDDLES_CLOSED, without(riddle(2), "inputs", "question"),
     "(id 2), field `inputs.question`: the field is missing. Riddles needs it in every row."),
    (ENANTIOSEMY, without(enantiosemy(2), "inputs", "option_f"),
     "(id 2), field `inputs.option_f`: the field is missing. Enantiosemy needs it in every row."),
    (ENANTIOSEMY, without(enantiosemy(2), "meta", "type"),
     "(id 2), field `meta.type`: the field is missing. Add it, as an integer."),
    (RUSSIAN_REGIONS, without(region(2), "meta", "group_id"),
     "(id 2), field `meta.group_id`: the field is missing. Add it, as an integer."),
    (RUSSIAN_REGIONS, without(region(2), "meta", "task_type"),
     "(id 2), field `meta.task_type`: the field is missing. Add it, as an integer."),
    # Wrong types.
    (RIDDLES_CLOSED, [],
     "field `row`: it is a list, not an object. Each row needs instruction, inputs, outputs and meta."),
    (RIDDLES_CLOSED, with_value(riddle(2), "2", "meta"),
     "field `meta`: it is a string, not an object. Write it as an object."),
    (RIDDLES_CLOSED, with_value(riddle(2), [], "inputs"),
     "(id 2), field `inputs`: it is a list, not an object. Write it as an object."),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "instruction"),
       f"(id 2), field `instruction`: it is {kind}, not a string. Write it as a string.")
      for value, kind in ((None, "null"), (True, "a boolean"), (1.5, "a number"), ([], "a list"), ({}, "an object"))),
    (RIDDLES_CLOSED, with_value(riddle(2), "q", "inputs"),
     "(id 2), field `inputs`: it is a string, not an object. Write it as an object."),
    (RIDDLES_CLOSED, with_value(riddle(2), 7, "inputs", "question"),
     "(id 2), field `inputs.question`: it is an integer, not a string. Write it as a string."),
    (RIDDLES_CLOSED, with_value(riddle(2), ["Снег"], "outputs"),
     "(id 2), field `outputs`: it is a list, not a string. Write it as a string."),
    (RIDDLES_CLOSED, with_value(riddle(2), [], "meta"),
     "field `meta`: it is a list, not an object. Write it as an object."),
    *((RIDDLES_CLOSED, with_value(riddle(2), value, "meta", "id"),
       f"field `meta.id`: it is {kind}, not an integer. Write it as an integer.")
      for value, kind in (("2", "a string"), (2.0, "a number"), (True, "a boolean"))),
    (RUSSIAN_REGIONS, with_value(region(2), "0", "meta", "group_id"),
     "(id 2), field `meta.group_id`: it is a string, not an integer. Write it as an integer."),
    (ENANTIOSEMY, with_value(enantiosemy(2), "1", "meta", "type"),
     "(id 2), field `meta.type`: it is a string, not an integer. Write it as an integer."),
    # Empty texts.
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "instruction"),
       "(id 2), field `instruction`: it is empty. Put the prompt's template here, or its index in dataset_meta.json.")
      for empty in ("", " \n\t")),
    *((RIDDLES_CLOSED, with_value(riddle(2), empty, "inputs", "question"),
       "(id 2), field `inputs.question`: it is empty. Riddles needs it filled in every row.")
      for empty in ("", " ", None)),
    (RUSSIAN_REGIONS, with_value(region(2), None, "inputs", "option_a"),
     "(id 2), field `inputs.option_a`: it is empty. RussianRegions needs it filled in every row."),
    # Types and ids.
    (ENANTIOSEMY, enantiosemy(2, type=5), "(id 2), field `meta.type`: the type 5 is unknown. "
     "Enantiosemy has the types 1, 2, 3, 4."),
    (RUSSIAN_REGIONS, region(2, task_type=0), "(id 2), field `meta.task_type`: the type 0 is unknown. "
     "RussianRegions has the types 1, 2, 3."),
    (RIDDLES_CLOSED, riddle(1),
     "(id 1), field `meta.id`: the id stands already in ROOT/riddles_closed/test.json, row 1. "
     "Ids must differ over test and shots together: renumber one of the rows."),
    # References.
    (RIDDLES_CLOSED, riddle(2, "; !; «»"), "(id 2), field `outputs`: '; !; «»' holds no word. "
     "Write the accepted answers, joined by `; `."),
    (ENANTIOSEMY, enantiosemy(2, "А; Ж"),
     f"(id 2), field `outputs`: 'А; Ж' holds the unknown letter 'Ж'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "A; Е"),
     f"(id 2), field `outputs`: 'A; Е' holds the unknown letter 'A' (a Latin letter). {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "а; б"),
     f"(id 2), field `outputs`: 'а; б' holds the unknown letter 'а'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "Е; А"),
     f"(id 2), field `outputs`: 'Е; А' has its letters out of order. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А; А"), f"(id 2), field `outputs`: 'А; А' holds a letter twice. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А;Б"),
     f"(id 2), field `outputs`: 'А;Б' holds the unknown letter 'А;Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А;  Б"),
     f"(id 2), field `outputs`: 'А;  Б' holds the unknown letter ' Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А, Б"),
     f"(id 2), field `outputs`: 'А, Б' holds the unknown letter 'А, Б'. {SIX_LETTERS}"),
    (ENANTIOSEMY, enantiosemy(2, "А; "),
     f"(id 2), field `outputs`: 'А; ' holds the unknown letter 'А;'. {SIX_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Д"), f"(id 2), field `outputs`: 'Д' holds the unknown letter 'Д'. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "А; Б"),
     f"(id 2), field `outputs`: 'А; Б' holds 2 letters, at most 1 fit. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б; файл"),
     f"(id 2), field `outputs`: 'Б; файл' holds the unknown letter 'файл'. {REGION_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б", kind=2),
     f"(id 2), field `outputs`: 'Б' lacks the language unit behind the letter. {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "Б; —", kind=3),
     f"(id 2), field `outputs`: 'Б; —' lacks the language unit behind the letter. {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "B; файл", kind=2),
     f"(id 2), field `outputs`: 'B; файл' holds the unknown letter 'B' (a Latin letter). {UNIT_LETTERS}"),
    (RUSSIAN_REGIONS, region(2, "файл", kind=2),
     f"(id 2), field `outputs`: 'файл' holds the unknown letter 'файл'. {UNIT_LETTERS}"),
    # What JSON can write and a document cannot hold.
    (RIDDLES_CLOSED, riddle(2, "Сне\ud800г"),
     "(id 2), field `outputs`: character 4 is half a character (the lone surrogate "
     "'\\ud800'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, with_value(riddle(2), "\udc00", "inputs", "question"),
     "(id 2), field `inputs.question`: character 1 is "
     "half a character (the lone surrogate '\\udc00'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, riddle(2, source=["a", "\ud83d"]), "(id 2), field `meta.source`: character 1 is half a character "
     "(the lone surrogate '\\ud83d'). Write the text anew: it was cut or decoded wrongly."),
    (RIDDLES_CLOSED, with_value(riddle(2), "a", "inputs", "x\ud83d"),
     "(id 2), field `'inputs.x\\ud83d'`: its name holds half a character (a lone surrogate). Write the name anew."),
    (RIDDLES_CLOSED, riddle(2**63), f"(id {2**63}), field `meta.id`: the integer {2**63} is too large. "
     f"The largest is {2**63 - 1}."),
    (RIDDLES_CLOSED, riddle(2, year=10**30), f"(id 2), field `meta.year`: the integer {10**30} is too large. "
     f"The largest is {2**63 - 1}."),
    *((RIDDLES_CLOSED, riddle(2, year=float(number)),
       f"(id 2), field `meta.year`: it is {number}, which is no number. Write a number, or null.")
      for number in ("nan", "inf", "-inf")),
    # Fields of the user's own.
    (RIDDLES_CLOSED, riddle(2, origin=5), "(id 2), field `meta.origin`: it is a number, but a string in "
     "ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
    (RIDDLES_CLOSED, riddle(2, origin={"a": 1}), "(id 2), field `meta.origin`: it is an object, but a string in "
     "ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
    (RIDDLES_CLOSED, riddle(2, tags=[1]), "(id 2), field `meta.tags[]`: it is a number, but a string in "
     "ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
    (RIDDLES_CLOSED, riddle(2, of=[1, None, "a"]), "(id 2), field `meta.of[]`: it is a string, but a number in "
     "ROOT/riddles_closed/test.json, row 2. Write the field in one kind in all rows."),
    (RIDDLES_CLOSED, riddle(2, made={"by": [{"name": True}]}), "(id 2), field `meta.made.by[].name`: it is a boolean, "
     "but a string in ROOT/riddles_closed/test.json, row 1. Write the field in one kind in all rows."),
]  # fmt: skip


def write_fault(root: Path, benchmark: Benchmark, row: Any) -> Path:
    """A data folder whose second test row has the fault."""
    good = {"enantiosemy": enantiosemy, "russian_regions": region}.get(benchmark.name, riddle)(
        1, origin="книга", tags=["зима"], made={"by": [{"name": "народ"}]}
    )
    return data_folder(root, benchmark.name, [good, row])


def whole_message(benchmark: Benchmark, expected: str) -> str:
    """What is said of that row, the data folder written as ROOT."""
    return f"ROOT/{benchmark.name}/test.json, row 2{' ' if expected.startswith('(') else ', '}{expected}"
