"""The example documents on the page about the benchmarks are those of the sample data."""

from __future__ import annotations

import re

import pytest

from tests.support.command import Command
from tests.support.documents import blocks, page, spans, text_of

EXAMPLE = re.compile(r"^(?:This is document|Вот задание) (\d+) (?:of|из) `(\w+)`:$", re.MULTILINE)


@pytest.mark.parametrize("russian", [False, True], ids=["en", "ru"])
def test_the_examples_are_documents_of_the_sample_data(russian: bool, mera_ru: Command) -> None:
    document = page("benchmarks", russian=russian)
    examples = EXAMPLE.findall(text_of(document))
    prompts = blocks(document, "text")
    assert len(examples) == len(prompts) == 3
    for (identity, task), prompt in zip(examples, prompts, strict=True):
        shown = mera_ru("data", "show", task, "--id", identity).out
        assert prompt in shown
        assert shown.partition("--- reference ---\n")[2].strip() in spans(document)
