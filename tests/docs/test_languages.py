"""The documentation is there in English and in Russian."""

from __future__ import annotations

import pytest

from tests.support.documents import REPOSITORY, headings, text_of

DOCS = REPOSITORY / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))


def test_both_languages_have_the_same_pages() -> None:
    assert sorted(path.name for path in (DOCS / "ru").glob("*.md")) == PAGES


@pytest.mark.parametrize("name", PAGES)
def test_a_russian_page_is_in_russian_and_an_english_one_in_english(name: str) -> None:
    for folder, russian in ((DOCS, False), (DOCS / "ru", True)):
        titles = [title for _, title in headings(folder / name)]
        words = [title for title in titles if "`" not in title and not title.isascii()]
        assert titles
        assert bool(words) == russian, titles


@pytest.mark.parametrize("name", ["README.md", "README.ru.md"])
def test_a_readme_is_short(name: str) -> None:
    assert len(text_of(REPOSITORY / name).splitlines()) <= 150
