"""What the YAML file of a user's own dataset says of it; the task itself is in own.py, which needs lm-eval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, AnswerFormat, Benchmark
from mera_ru_tasks.data.task_files import FunctionName, read_task_file
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.paths import task_names

SETTINGS = ("mera_ru_path", "mera_ru_hub", "mera_ru_answer", "mera_ru_type_field", "mera_ru_prefill")
CLASS = "mera_ru_tasks.CustomTask"
# Further letters (И, К, О, С, У, Я) are words as often as options, so a reading could only guess.
_LETTERS = "АБВГДЕЖЗ"


def of_file(file: Path) -> tuple[Benchmark, Mapping[str, Any]]:
    """The dataset of a task's YAML file, and the file's settings of ours.

    Raises:
        TaskError: the file cannot be read, is no task's, or a setting is wrong.
    """
    config = read_task_file(file)
    task, settings = config.get("task"), config.get("dataset_kwargs")
    if not isinstance(task, str) or not isinstance(settings, Mapping):
        raise TaskError(f"{file} is no task of your own dataset: it needs `task` and `dataset_kwargs`.")
    named = config.get("class")
    if not isinstance(named, FunctionName) or (named.startswith("mera_ru_tasks.") and named != CLASS):
        raise TaskError(f"{file}, `class`: lm-eval would not find the task's class. Write `class: !function {CLASS}`.")
    return own_benchmark(task, settings), settings


def of_config(task: str, config: Mapping[str, Any]) -> Benchmark | None:
    """The dataset of a task as lm-eval logs its configuration; None where it is not one of a user's own."""
    settings = config.get("dataset_kwargs")
    if not isinstance(settings, Mapping) or "mera_ru_answer" not in settings:
        return None
    return own_benchmark(task, settings)


def own_benchmark(task: str, settings: Mapping[str, Any]) -> Benchmark:
    """What the `dataset_kwargs` of a task say of its data.

    Args:
        task: the task's name, which messages name the dataset by.
        settings: `mera_ru_path` (a folder that holds test.json) or `mera_ru_hub` (a dataset's name on the hub);
            `mera_ru_answer`, `phrase` or `{choices: АБВГ, max_choices: 1, with_phrase: false}`, or, with
            `mera_ru_type_field`, such a form for each type; `mera_ru_prefill`, whether the prompt ends in the
            marker, for base models.

    Raises:
        TaskError: a setting is unknown, missing or wrong.
    """
    if task in task_names():
        raise TaskError(f"The task {task!r}: the name is one of this package's own. Choose another in `task`.")
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise _wrong(task, unknown[0], "there is no such setting", f"Settings: {', '.join(SETTINGS)}.")
    path, hub, type_field = (settings.get(f"mera_ru_{name}") for name in ("path", "hub", "type_field"))
    for name, value in (("mera_ru_path", path), ("mera_ru_hub", hub), ("mera_ru_type_field", type_field)):
        if value is not None and not (isinstance(value, str) and value):
            raise _wrong(task, name, f"{value!r} is no name", "Write it as a string.")
    if type_field in ("id", "group_id", "group_size"):
        raise _wrong(task, "mera_ru_type_field", f"`meta.{type_field}` says something else", "Name another field.")
    if (path is None) == (hub is None):
        what = "the data are named twice" if path else "the data are not named"
        raise _wrong(task, "mera_ru_path", what, "Name a folder in `mera_ru_path`, or a hub dataset in `mera_ru_hub`.")
    if not isinstance(settings.get("mera_ru_prefill", False), bool):
        raise _wrong(task, "mera_ru_prefill", f"it is {settings['mera_ru_prefill']!r}", "Write true or false.")
    return Benchmark(
        name=task,
        title=task,
        hub=hub,
        folders=(task.lower(),),
        inputs=(),
        meta=(type_field,) if type_field else (),
        type_field=type_field,
        formats=_formats(task, settings.get("mera_ru_answer"), typed=type_field is not None),
        path=Path(path) if path else None,
    )


def _formats(task: str, answer: Any, *, typed: bool) -> Mapping[int | None, AnswerFormat]:
    if not typed:
        return {None: _format(task, answer)}
    # In lm-eval's logs the types are texts, as all keys of JSON objects are.
    if not (isinstance(answer, Mapping) and answer and all(re.fullmatch(r"-?\d+", str(kind)) for kind in answer)):
        remedy = "With `mera_ru_type_field`, write a form of answer for each type: `{1: …, 2: …}`."
        raise _wrong(task, "mera_ru_answer", f"{answer!r} is not keyed by types", remedy)
    formats: dict[int | None, AnswerFormat] = {int(kind): _format(task, one) for kind, one in answer.items()}
    if len({(bool(one.choices), one.max_choices > 1) for one in formats.values()}) > 1:
        # Each form has metrics of its own, and lm-eval computes a task's metrics over all of its documents.
        remedy = "Types of one task answer with a phrase, or one letter, or several letters: make a task of each."
        raise _wrong(task, "mera_ru_answer", "the types have different kinds of answers", remedy)
    return formats


def _format(task: str, answer: Any) -> AnswerFormat:
    if answer == "phrase":
        return PHRASE
    remedy = f"Write `phrase`, or `{{choices: АБВГ, max_choices: 1}}` with letters from {_LETTERS} in that order."
    if not isinstance(answer, Mapping) or not set(answer) <= {"choices", "max_choices", "with_phrase"}:
        what = "it is missing" if answer is None else f"{answer!r} is no form of answer"
        raise _wrong(task, "mera_ru_answer", what, remedy)
    choices = answer.get("choices")
    max_choices, with_phrase = answer.get("max_choices", 1), answer.get("with_phrase", False)
    if not isinstance(choices, str) or len(choices) < 2 or not _LETTERS.startswith(choices):
        raise _wrong(task, "mera_ru_answer", f"the letters {choices!r} cannot be read", remedy)
    if type(max_choices) is not int or not 1 <= max_choices <= len(choices):
        what = f"`max_choices` is {max_choices!r}"
        raise _wrong(task, "mera_ru_answer", what, f"It is a number from 1 to {len(choices)}.")
    if not isinstance(with_phrase, bool) or (with_phrase and max_choices > 1):
        what = f"`with_phrase` is {with_phrase!r}, `max_choices` {max_choices}"
        raise _wrong(task, "mera_ru_answer", what, "A phrase (`with_phrase: true`) follows one letter.")
    return AnswerFormat(choices, max_choices, with_phrase)


def _wrong(task: str, setting: str, what: str, remedy: str) -> TaskError:
    return TaskError(f"The task {task!r}, `dataset_kwargs`, `{setting}`: {what}. {remedy}")
