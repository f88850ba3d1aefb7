"""Every error in a custom task or its data is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.issues import DataError, TaskError
from tests.support.custom_task import row, task_folder
from tests.support.scripted import run

# The settings, the setting that the message must name, and the text that the message must contain.
WRONG_SETTINGS: dict[str, tuple[dict[str, Any], str, str]] = {
    "no data": ({"mera_ru_path": None}, "mera_ru_path", "mera_ru_hub"),
    "data named twice": ({"mera_ru_hub": "org/own"}, "mera_ru_path", "mera_ru_hub"),
    "a path that is none": ({"mera_ru_path": 7}, "mera_ru_path", "7"),
    "a misspelt setting": ({"mera_ru_anwser": "phrase"}, "mera_ru_anwser", "mera_ru_answer"),
    "no answer": ({"mera_ru_answer": None}, "mera_ru_answer", "`phrase`, `text`, or `{choices: "),
    "another word": ({"mera_ru_answer": "word"}, "mera_ru_answer", "`phrase`, `text`, or `{choices: "),
    "a misspelt part": ({"mera_ru_answer": {"leters": "АБ"}}, "mera_ru_answer", "leters"),
    "Latin letters": ({"mera_ru_answer": {"choices": "ABCD"}}, "mera_ru_answer", "'ABCD'"),
    "letters from the middle": ({"mera_ru_answer": {"choices": "БВГ"}}, "mera_ru_answer", "'БВГ'"),
    "one letter alone": ({"mera_ru_answer": {"choices": "А"}}, "mera_ru_answer", "'А'"),
    "letters in a list": ({"mera_ru_answer": {"choices": ["А", "Б"]}}, "mera_ru_answer", "['А', 'Б']"),
    "too many": ({"mera_ru_answer": {"choices": "АБ", "max_choices": 3}}, "mera_ru_answer", "from 1 to 2"),
    "none": ({"mera_ru_answer": {"choices": "АБ", "max_choices": 0}}, "mera_ru_answer", "`max_choices` is 0"),
    "true for a number": ({"mera_ru_answer": {"choices": "АБ", "max_choices": True}}, "mera_ru_answer", "is True"),
    "a phrase behind several": (
        {"mera_ru_answer": {"choices": "АБ", "max_choices": 2, "with_phrase": True}}, "mera_ru_answer", "with_phrase",
    ),
    "types without a field": ({"mera_ru_answer": {1: "phrase"}}, "mera_ru_answer", "{1: 'phrase'}"),
    "types of several kinds": (
        {"mera_ru_type_field": "kind", "mera_ru_answer": {1: "phrase", 2: {"choices": "АБ"}}},
        "mera_ru_answer", "types",
    ),
    **{
        f"a type in {field}": (
            {"mera_ru_type_field": field, "mera_ru_answer": {1: "phrase"}}, "mera_ru_type_field", f"`meta.{field}`",
        )
        for field in ("id", "group_id", "group_size")
    },
    "groups that are no switch": ({"mera_ru_groups": "group_id"}, "mera_ru_groups", "'group_id'"),
    "no prompts": ({"mera_ru_prompts": []}, "mera_ru_prompts", "list"),
    "a prompt that is no text": ({"mera_ru_prompts": [1]}, "mera_ru_prompts", "list"),
    "options of a phrase": ({"mera_ru_options": "option_"}, "mera_ru_options", "letters"),
    "options that are no name": ({"mera_ru_options": ["a"]}, "mera_ru_options", "['a']"),
    "types of a phrase and a text": (
        {"mera_ru_type_field": "kind", "mera_ru_answer": {1: "phrase", 2: "text"}}, "mera_ru_answer", "types",
    ),
    "letters of no alphabet": ({"mera_ru_answer": {"choices": "АБВГДЁ"}}, "mera_ru_answer", "АБВГДЕЁЖЗ"),
    "a prefill that is no switch": ({"mera_ru_prefill": "Ответ:"}, "mera_ru_prefill", "'Ответ:'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG_SETTINGS)
def test_a_wrong_setting_is_named(tmp_path: Path, case: str) -> None:
    settings, name, words = WRONG_SETTINGS[case]
    folder = task_folder(tmp_path, **{"mera_ru_path": "x", "mera_ru_answer": "phrase", **settings})
    with pytest.raises(TaskError) as caught:
        run(None, ["own"], task_folders=[folder])
    text = str(caught.value)
    assert text.startswith(f"The task 'own', `dataset_kwargs`, `{name}`: ") and words in text


def test_a_prefix_that_no_reading_knows_of_is_refused(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, mera_ru_path="x", mera_ru_answer="phrase", gen_prefix="Ответ:")
    with pytest.raises(TaskError, match=r"'own', `gen_prefix`: .* write `mera_ru_prefill: true`"):
        run(None, ["own"], task_folders=[folder])


WRONG_DATA: dict[str, tuple[Any, str]] = {
    "no folder": (None, "The data folder {folder} does not exist."),
    "no split": ({}, "{folder} has no split `test`"),
    "a letter outside": ([row(1, "Д")], "{folder}/test.json, row 1 (id 1), field `outputs`: "),
    "no rows": ([], "{folder}/test.json contains no rows"),
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
