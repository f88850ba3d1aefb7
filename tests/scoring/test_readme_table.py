"""The README's table of responses must be true in every row."""

import re

import pytest

from mera_ru_tasks.scoring.extract import read
from tests.support.documents import README, text_of
from tests.support.extraction_cases import PHRASE, SEVERAL, UNIT, flexible, strict

HEADER = "| Response | strict-match | flexible-extract |"
RESPONSE = re.compile(r"`(?P<response>[^`]+)`(?: for `(?P<reference>[^`]+)`)?")
FLEXIBLE = re.compile(
    r"(?P<right>[01]), (?:nothing read|read as `(?P<extraction>[^`]+)`)(?:: .+|; its `f1` is (?P<f1>[\d.]+))?"
)


def rows() -> list[list[str]]:
    """The cells of the table's rows, without the header and the line below it."""
    text = text_of(README)
    if HEADER not in text:
        return []
    table = text.split(HEADER, 1)[1].split("\n\n", 1)[0]
    return [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in table.strip().splitlines()[1:]]


def test_the_table_is_there():
    assert len(rows()) >= 10


@pytest.mark.parametrize("row", rows())
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
        assert scores["f1"] == pytest.approx(float(result["f1"]), abs=0.005)
