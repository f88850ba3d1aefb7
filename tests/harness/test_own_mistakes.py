"""What is wrong with a user's own task or its data is named."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.errors import DataError, TaskError
from tests.support.custom_task import row, task_folder
from tests.support.scripted import run

WRONG_SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "no data": ({"mera_ru_path": None}, "`mera_ru_path`: the data are not named. Name a folder in"),
    "data named twice": ({"mera_ru_hub": "org/own"}, "`mera_ru_path`: the data are named twice. "),
    "a path that is none": ({"mera_ru_path": 7}, "`mera_ru_path`: 7 is no name. "),
    "a misspelt setting": ({"mera_ru_anwser": "phrase"}, "`mera_ru_anwser`: there is no such setting. Settings: "),
    "no answer": ({"mera_ru_answer": None}, "`mera_ru_answer`: it is missing. Write `phrase`, or `{choices: "),
    "another word": ({"mera_ru_answer": "word"}, "'word' is no form of answer. Write `phrase`"),
    "a misspelt part": ({"mera_ru_answer": {"leters": "АБ"}}, "is no form of answer"),
    "Latin letters": ({"mera_ru_answer": {"choices": "ABCD"}}, "the letters 'ABCD' cannot be read"),
    "letters from the middle": ({"mera_ru_answer": {"choices": "БВГ"}}, "the letters 'БВГ' cannot be read"),
    "one letter alone": ({"mera_ru_answer": {"choices": "А"}}, "cannot be read"),
    "letters in a list": ({"mera_ru_answer": {"choices": ["А", "Б"]}}, "cannot be read"),
    "too many": ({"mera_ru_answer": {"choices": "АБ", "max_choices": 3}}, "a number from 1 to 2"),
    "none": ({"mera_ru_answer": {"choices": "АБ", "max_choices": 0}}, "`max_choices` is 0"),
    "true for a number": ({"mera_ru_answer": {"choices": "АБ", "max_choices": True}}, "`max_choices` is True"),
    "a phrase behind several": (
        {"mera_ru_answer": {"choices": "АБ", "max_choices": 2, "with_phrase": True}},
        "follows one letter",
    ),
    "types without a field": ({"mera_ru_answer": {1: "phrase"}}, "is no form of answer"),
    "a field without types": ({"mera_ru_type_field": "kind"}, "'phrase' is not keyed by types"),
    "types of several kinds": (
        {"mera_ru_type_field": "kind", "mera_ru_answer": {1: "phrase", 2: {"choices": "АБ"}}},
        "the types have different kinds of answers. Types of one task answer with",
    ),
    "a type in the id": (
        {"mera_ru_type_field": "id", "mera_ru_answer": {1: "phrase"}},
        "`mera_ru_type_field`: `meta.id` says something else. Name another field.",
    ),
    "a type in the group": (
        {"mera_ru_type_field": "group_id", "mera_ru_answer": {1: "phrase"}},
        "`mera_ru_type_field`: `meta.group_id` says something else. ",
    ),
    "a type in a field of ours": (
        {"mera_ru_type_field": "group_size", "mera_ru_answer": {1: "phrase"}},
        "`mera_ru_type_field`: `meta.group_size` says something else. ",
    ),
    "a prefill that is no switch": ({"mera_ru_prefill": "Ответ:"}, "`mera_ru_prefill`: it is 'Ответ:'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(tmp_path: Path, case: str) -> None:
    settings, message = WRONG_SETTINGS[case]
    folder = task_folder(tmp_path, **{"mera_ru_path": "x", "mera_ru_answer": "phrase", **settings})
    with pytest.raises(TaskError, match=re.escape(message)) as caught:
        run(None, ["own"], task_folders=[folder])
    assert str(caught.value).startswith("The task 'own', `dataset_kwargs`, `mera_ru_")


def test_a_prefix_that_no_reading_knows_of_is_refused(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, mera_ru_path="x", mera_ru_answer="phrase", gen_prefix="Ответ:")
    with pytest.raises(TaskError, match=r"'own', `gen_prefix`: .* write `mera_ru_prefill: true`"):
        run(None, ["own"], task_folders=[folder])


WRONG_DATA: dict[str, tuple[Any, str]] = {
    "no folder": (None, "The data folder {folder} does not exist. Name the folder that holds test.json in"),
    "no split": ({}, "{folder} has no split `test` (splits found: none). Add test.json,"),
    "a letter outside": (
        [row(1, "Д")],
        "{folder}/test.json, row 1 (id 1), field `outputs`: 'Д' holds the unknown letter",
    ),
    "no rows": ([], "{folder}/test.json holds no rows, so there is nothing to run own on."),
}


@pytest.mark.parametrize("case", WRONG_DATA)
def test_wrong_data_are_named_as_the_benchmarks_are(tmp_path: Path, case: str) -> None:
    rows, message = WRONG_DATA[case]
    folder = tmp_path / "own"
    if rows is not None:
        folder.mkdir()
    if isinstance(rows, list):
        (folder / "test.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    tasks = task_folder(tmp_path, mera_ru_path=str(folder), mera_ru_answer={"choices": "АБВГ"})
    with pytest.raises(DataError) as caught:
        run(None, ["own"], task_folders=[tasks])
    assert str(caught.value).startswith(message.replace("{folder}", str(folder)))
