"""The worked examples of the scoring rules for both filters, and typical responses of chat models."""

import json
from pathlib import Path

import pytest

from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, flexible, strict


def cases(name):
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text(encoding="utf-8").splitlines()]


VECTORS, RESPONSES = cases("vectors.jsonl"), cases("responses.jsonl")


def format_of(case):
    formats = {"enantiosemy": SEVERAL, "riddles_closed": PHRASE, "russian_regions": ONE}
    return UNIT if case["task"] == "russian_regions" and ";" in case["outputs"] else formats[case["task"]]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["id"]))
def test_vector(vector):
    arguments = format_of(vector), vector["outputs"], vector["response"]
    assert strict(*arguments)["exact_match"] == vector["strict"]
    assert flexible(*arguments)["exact_match"] == vector["flexible"]


@pytest.mark.parametrize("case", RESPONSES)
def test_response(case):
    assert flexible(format_of(case), case["outputs"], case["response"])["exact_match"] == case["flexible"]


def test_all_cases_are_there():
    assert (len(VECTORS), len(RESPONSES)) == (81, 60)
