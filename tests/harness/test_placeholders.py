"""The inputs of a row fill the placeholders in its instruction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lm_eval.tasks import TaskManager

from mera_ru_tasks.paths import yaml_folder
from tests.support.prompts import prompts
from tests.support.properties import at_least
from tests.support.rows import data_folder, riddle


@pytest.fixture(scope="module")
def task(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return a task that lm-eval builds from the YAML file."""
    root = data_folder(tmp_path_factory.mktemp("data"), "riddles", [riddle(1)])
    manager = TaskManager(include_defaults=False, include_path=str(yaml_folder()), metadata={"mera_ru_data": str(root)})
    return manager.load(["riddles_closed"])["tasks"]["riddles_closed"]


def test_the_template_renders_the_prompt_by_itself(task: Any) -> None:
    assert isinstance(task.config.doc_to_text, str)


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("{text}", "Т"),
        ("из множества {А, Б, В}: {text}", "из множества {А, Б, В}: Т"),
        ("{{ 7*7 }} {{7*7}} {text}", "{{ 7*7 }} {{7*7}} Т"),
        ("{text.__class__} {text[0]} {text!r} {text:>9}", "{text.__class__} {text[0]} {text!r} {text:>9}"),
        ("{%raw%}{text}{%endraw%}", "{%raw%}Т{%endraw%}"),
        ("{# {text} #}", "{# Т #}"),
        ("{{text}}", "{Т}"),
        ("{{{text}}}", "{{Т}}"),
        ("{a{text}b}", "{aТb}"),
        ("{text", "{text"),
        ("text}", "text}"),
        ("{ text }", "{ text }"),
        ("{}{text}{", "{}Т{"),
        ("{Text}{unknown}", "{Text}{unknown}"),
        ("{text}{text}", "ТТ"),
        ("{braces}", "{text} {{ 7*7 }} }{"),
        ("{empty}|{text}", "|Т"),
        ("{slashes}", "\\1 \\g<0> \\n $1"),
        ("{keys}{items}{get}", "{keys}{items}{get}"),
        ("  {text}\n\n", "  Т\n\n"),
        ("\r\n\t{text}\u2028\x00", "\r\n\t" + "Т\u2028\x00"),
    ],
)
def test_only_a_name_of_an_input_is_a_placeholder(task: Any, instruction: str, expected: str) -> None:
    inputs = {"text": "Т", "braces": "{text} {{ 7*7 }} }{", "empty": "", "slashes": "\\1 \\g<0> \\n $1"}
    assert task.doc_to_text({"instruction": instruction, "inputs": inputs}) == expected


def fill(instruction: str, inputs: dict[str, str]) -> str:
    """Apply the rule for placeholders one character at a time."""
    filled = ""
    at = 0
    while at < len(instruction):
        end = instruction.find("}", at)
        name = instruction[at + 1 : end]
        if instruction[at] == "{" and end > at and name in inputs and "{" not in name:
            filled += inputs[name]
            at = end + 1
        else:
            filled += instruction[at]
            at += 1
    return filled


NAMES = st.one_of(st.sampled_from(["text", "option_a", "get", "inputs", "7*7", "", " "]), st.text(max_size=4))

TEXTS = st.lists(
    st.one_of(
        NAMES, NAMES.map("{{{}}}".format), st.text(max_size=3),
        st.sampled_from(["{", "}", "{{", "}}", "{%", "%}", "{#", "\\", "\n", "{{ 7*7 }}", "{text}", "{option_a}"]),
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(instruction=TEXTS, inputs=st.dictionaries(NAMES, TEXTS, max_size=4))
@at_least(200)
def test_rendering_equals_the_rule(task: Any, instruction: str, inputs: dict[str, str]) -> None:
    assert task.doc_to_text({"instruction": instruction, "inputs": inputs}) == fill(instruction, inputs)


@pytest.mark.parametrize("others", [[], ["Подсказка"]], ids=["empty in all rows", "filled in another"])
def test_an_empty_input_is_filled_in_whatever_other_rows_hold(tmp_path: Path, others: list[str]) -> None:
    rows = [riddle(number) for number in range(1 + len(others))]
    for row, hint in zip(rows, ["", *others], strict=True):
        row["instruction"] = "{question}|{hint}|"
        row["inputs"]["hint"] = hint
    assert prompts(data_folder(tmp_path, "riddles", rows), "riddles_closed")[0] == "Загадка 0?||"
