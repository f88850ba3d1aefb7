"""The documented output is what the commands print."""

from __future__ import annotations

import shlex

import pytest

from tests.support.command import Command
from tests.support.documents import DOCUMENTS, REPOSITORY, blocks

SHOWN = [
    pytest.param(block, id=f"{document.relative_to(REPOSITORY)}-{number}")
    for document in DOCUMENTS
    for number, block in enumerate(blocks(document, "text"))
    if block.startswith("$ mera-ru ")
]


def test_output_is_shown() -> None:
    assert SHOWN


@pytest.mark.parametrize("block", SHOWN)
def test_each_command_prints_what_is_shown(block: str, mera_ru: Command) -> None:
    command, *lines = block.splitlines()
    printed = mera_ru(*shlex.split(command)[2:]).out.splitlines()
    at = 0
    for line in lines:  # parts may be left out, but the order must be the same
        assert line in printed[at:], line
        at += printed[at:].index(line) + 1
