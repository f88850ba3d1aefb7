"""The reference pages agree with the code."""

from __future__ import annotations

import ast
import importlib.util
import re

import pytest

import mera_ru_tasks
from tests.support.documents import REPOSITORY, blocks, page, text_of

LANGUAGES = pytest.mark.parametrize("russian", [False, True], ids=["en", "ru"])
OURS = re.compile(r"(MERA_RU|LM_EVAL_JUDGE)_[A-Z_]+")


def test_the_generated_pages_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("generate", REPOSITORY / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    for path, text in generate.pages().items():
        assert path.read_text(encoding="utf-8") == text, "run `make reference`"


def variables_of_the_code() -> set[str]:
    """Return the environment variables that the package reads. Each is a separate string in the code."""
    found = set()
    for file in (REPOSITORY / "mera_ru_tasks").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and OURS.fullmatch(node.value):
                found.add(node.value)
    return found


@LANGUAGES
def test_the_page_of_variables_names_those_of_the_code(russian: bool) -> None:
    document = page("environment", russian=russian)
    rows = set(re.findall(r"^\| `(\w+)` \|", text_of(document), re.MULTILINE))
    assert {name for name in rows if OURS.fullmatch(name)} == variables_of_the_code()


@LANGUAGES
def test_the_page_of_the_api_describes_each_public_name(russian: bool) -> None:
    described = re.findall(r"^\.\. auto\w+:: mera_ru_tasks\.(\w+)$", text_of(page("python-api", russian=russian)), re.M)
    assert sorted(described) == sorted(mera_ru_tasks.__all__)


@LANGUAGES
def test_the_example_of_the_api_prints_what_it_says(russian: bool, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(page("python-api", russian=russian), "python"):
        exec(block, {})
        said = [line.rpartition("  # ")[2] for line in block.splitlines() if line.startswith("print(")]
        assert capsys.readouterr().out.splitlines() == said
