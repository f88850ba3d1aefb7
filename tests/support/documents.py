"""The pages of the documentation and their contents."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

DOCUMENTS = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "benchmarks/*.md", "yaml_tasks/**/*.md", "mera_ru_tasks/sample_data/*.md")
    for path in REPOSITORY.glob(pattern)
    if path.name != "CHANGELOG.md"  # it describes the past
)

README = REPOSITORY / "README.md"


def page(name: str, *, russian: bool = False) -> Path:
    """Return the page of the documentation about a topic."""
    return REPOSITORY / "docs" / ("ru" if russian else "") / f"{name}.md"


each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(REPOSITORY)))
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@cache
def text_of(document: Path) -> str:
    return document.read_text(encoding="utf-8")


def blocks(document: Path, language: str) -> list[str]:
    return [body for name, body in _FENCE.findall(text_of(document)) if name == language]


def spans(document: Path) -> list[str]:
    """Return the inline code in a document."""
    return re.findall(r"`([^`\n]+)`", _FENCE.sub("", text_of(document)))


def headings(document: Path) -> list[tuple[int, str]]:
    """Return the headings as pairs of level and text."""
    found = re.findall(r"^(#+) (.+)$", _FENCE.sub("", text_of(document)), re.MULTILINE)
    return [(len(marks), title) for marks, title in found]


def anchors(document: Path) -> list[str]:
    """Return the anchors of the headings as on GitHub: all letters are kept, and repeated anchors get a number."""
    slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for _, title in headings(document)]
    before = [slugs[:place].count(slug) for place, slug in enumerate(slugs)]
    return [f"{slug}-{times}" if times else slug for slug, times in zip(slugs, before, strict=True)]
