"""The worked cases of the scoring rules, in both pipelines."""

import json
from pathlib import Path

import pytest

from tests.support.extraction_cases import ONE, PHRASE, SEVERAL, UNIT, flexible, strict

VECTORS = [
    json.loads(line) for line in Path(__file__).with_name("vectors.jsonl").read_text(encoding="utf-8").splitlines()
]


def format_of(vector):
    formats = {"enantiosemy": SEVERAL, "riddles_closed": PHRASE, "russian_regions": ONE}
    return UNIT if vector["task"] == "russian_regions" and ";" in vector["outputs"] else formats[vector["task"]]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["id"]))
def test_vector(vector):
    arguments = format_of(vector), vector["outputs"], vector["response"]
    assert strict(*arguments)["exact_match"] == vector["strict"]
    assert flexible(*arguments)["exact_match"] == vector["flexible"]


def test_all_vectors_are_there():
    assert len(VECTORS) == 82
