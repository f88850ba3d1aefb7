"""Each Russian document says what the English one beside it says: same headings, code, numbers, tables and links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.documents import _FENCE, DOCUMENTS, REPOSITORY, anchors, headings, spans, text_of

# The data card holds both languages, one below the other.
CARD = REPOSITORY / "mera_ru_tasks" / "sample_data" / "DATA_CARD.md"
RUSSIAN_PART_OF_CARD = "образцы-данных-mera-ru-tasks"

ENGLISH = [path for path in DOCUMENTS if not path.name.endswith(".ru.md") and path != CARD]
each_pair = pytest.mark.parametrize("english", ENGLISH, ids=lambda path: path.stem)


def russian_of(english: Path) -> Path:
    return english.with_suffix(".ru.md")


def prose(document: Path) -> str:
    return _FENCE.sub("", text_of(document))


@each_pair
def test_the_two_name_each_other_at_their_top(english: Path) -> None:
    russian = russian_of(english)
    assert prose(english).split("\n\n")[1] == f"[По-русски]({russian.name})"
    assert prose(russian).split("\n\n")[1] == f"[In English]({english.name})"


@each_pair
def test_the_headings_are_as_many_at_each_level_in_the_same_order(english: Path) -> None:
    assert [level for level, _ in headings(russian_of(english))] == [level for level, _ in headings(english)]


# --- code ------------------------------------------------------------------------------------------------------------


def names_of_modules(label: re.Match[str]) -> str:
    """A diagram's label without its words; the modules stand in its last line, with commas between."""
    named = re.search(r"<br>([a-z]+(?:, [a-z]+)*)$", label[1])
    return f'"{named[1] if named else ""}"'


def code_of(document: Path) -> list[tuple[str, str]]:
    """Each block of code as its language and its body, the comments emptied."""
    found = []
    for language, body in _FENCE.findall(text_of(document)):
        if language == "mermaid":
            quoted = re.sub(r"\[\(([^\"]*?)\)\]", r'[("\1")]', body)
            found.append((language, re.sub(r'"(.*?)"', names_of_modules, quoted)))
        else:
            found.append((language, re.sub(r"(^|[^\S\n]+)#.*", "#", body, flags=re.MULTILINE)))
    return found


@each_pair
def test_the_code_is_the_same_but_for_its_comments(english: Path) -> None:
    assert code_of(russian_of(english)) == code_of(english)


@each_pair
def test_the_comments_are_in_russian(english: Path) -> None:
    for _, body in _FENCE.findall(text_of(russian_of(english))):
        for comment in re.findall(r"(?:^|\s)#(.*)", body):
            assert re.search("[а-яё]", comment), comment


@each_pair
def test_the_inline_code_is_the_same(english: Path) -> None:
    assert set(spans(russian_of(english))) == set(spans(english))


# --- numbers and tables ----------------------------------------------------------------------------------------------


def numbers(document: Path) -> list[str]:
    """All numbers outside code and links' targets, without the languages' own marks for decimals and thousands."""
    text = re.sub(r"`[^`\n]+`|\]\([^)]*\)", " ", prose(document))
    if document.name.endswith(".ru.md"):
        text = re.sub(r"(?<=\d),(?=\d)", ".", re.sub(r"(?<=\d) (?=\d{3}\b)", "", text))
    else:
        text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return sorted(re.findall(r"\d+(?:\.\d+)*", text))


@each_pair
def test_the_numbers_are_the_same(english: Path) -> None:
    assert numbers(russian_of(english)) == numbers(english)


def code_in_tables(document: Path) -> list[list[list[list[str]]]]:
    """The inline code of each cell, by table, row and column."""
    tables = re.findall(r"(?:^\|.*\n?)+", prose(document), re.MULTILINE)
    rows = [[line.strip("|").split("|") for line in table.splitlines()] for table in tables]
    return [[[sorted(re.findall(r"`[^`]+`", cell)) for cell in row] for row in table] for table in rows]


@each_pair
def test_the_tables_have_the_same_shape_and_the_same_code_in_each_cell(english: Path) -> None:
    assert code_in_tables(russian_of(english)) == code_in_tables(english)


# --- links -----------------------------------------------------------------------------------------------------------


def links(document: Path) -> list[str]:
    """Where its links lead, but for the one to the other language below its title."""
    return re.findall(r"\]\(([^)\s]+)\)", prose(document).split("\n\n", 2)[2])


def in_russian(target: str, english: Path) -> str:
    """Where an English document's link is to lead in the Russian one."""
    path, _, anchor = target.partition("#")
    file = (english.parent / path).resolve() if path else english
    if file == CARD:
        return f"{path}#{RUSSIAN_PART_OF_CARD}"
    if file not in ENGLISH:
        return target
    russian = russian_of(file)
    name = path.removesuffix(file.name) + russian.name if path else ""
    return f"{name}#{anchors(russian)[anchors(file).index(anchor)]}" if anchor else name


@each_pair
def test_the_links_lead_to_the_same_places_in_russian(english: Path) -> None:
    assert sorted(links(russian_of(english))) == sorted(in_russian(target, english) for target in links(english))
