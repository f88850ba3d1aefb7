"""Every row of the documented tables of responses is correct."""

import re
from pathlib import Path

import pytest

from tests.support.documents import README, page, text_of
from tests.support.extraction_cases import PHRASE, SEVERAL, UNIT, flexible, read, strict

RUSSIAN_README = README.with_suffix(".ru.md")
HEADER = re.compile(r"^\| .+ \| strict-match \| flexible-extract \|\n.*\n((?:\|.*\n)+)", re.MULTILINE)
RESPONSE = re.compile(r"`(?P<response>[^`]+)`(?:(?: for|, эталон) `(?P<reference>[^`]+)`)?")
FLEXIBLE = re.compile(
    r"(?P<right>[01]), (?:nothing read|ничего не извлечено|(?:read as|извлечено) `(?P<extraction>[^`]+)`)"
    r"(?:: .+|; (?:its )?`f1` (?:is|равен) (?P<f1>[\d.,]+))?"
)
LEAST_ROWS = {README: 4, RUSSIAN_README: 4, page("extraction"): 10, page("extraction", russian=True): 10}


def rows(document: Path) -> list[list[str]]:
    """Return the cells of the rows of a table, without the header."""
    table = HEADER.search(text_of(document))
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table[1].splitlines()] if table else []


@pytest.mark.parametrize("document", LEAST_ROWS, ids=str)
def test_the_table_is_there(document):
    assert len(rows(document)) >= LEAST_ROWS[document]


@pytest.mark.parametrize("row", [row for document in LEAST_ROWS for row in rows(document)])
def test_row_is_true(row):
    said = RESPONSE.fullmatch(row[0])
    result = FLEXIBLE.fullmatch(row[2])
    assert said is not None, row[0]
    assert result is not None, row[2]
    reference = said["reference"] or "А; Е"
    answer_format = SEVERAL if reference == "А; Е" else UNIT if ";" in reference else PHRASE
    response = said["response"].replace("⏎", "\n")
    assert strict(answer_format, reference, response)["exact_match"] == int(row[1])
    assert read(response, answer_format) == (result["extraction"] or "")
    scores = flexible(answer_format, reference, response)
    assert scores["exact_match"] == int(result["right"])
    if result["f1"]:
        assert scores["f1"] == pytest.approx(float(result["f1"].replace(",", ".")), abs=0.005)
