"""The documentation exists in English and in Russian."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import _FENCE, REPOSITORY, text_of

DOCS = REPOSITORY / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))


def test_both_languages_have_the_same_pages() -> None:
    assert sorted(path.name for path in (DOCS / "ru").glob("*.md")) == PAGES


def russian_share(document: Path) -> float:
    """Return the share of Russian letters in a document's prose, without code and quotations."""
    prose = re.sub(r"`[^`\n]+`|«[^»]*»|\]\([^)]*\)|<[^>]*>", " ", _FENCE.sub("", text_of(document)))
    letters = [letter for letter in prose.lower() if letter.isalpha()]
    return sum("а" <= letter <= "я" or letter == "ё" for letter in letters) / len(letters)


@pytest.mark.parametrize("name", [name for name in PAGES if name != "cli.md"])
def test_each_page_is_in_its_language(name: str) -> None:
    assert russian_share(DOCS / name) < 0.1
    assert russian_share(DOCS / "ru" / name) > 0.5


@pytest.mark.parametrize("name", ["README.md", "README.ru.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len(text_of(REPOSITORY / name).splitlines()) <= 150
