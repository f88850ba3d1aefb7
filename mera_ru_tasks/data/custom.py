"""Read a custom task's dataset and answer format from its YAML file, without lm-eval.

The task class needs lm-eval and is therefore in `harness/task.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mera_ru_tasks.data.benchmarks import PHRASE, TEXT, AnswerFormat, Benchmark
from mera_ru_tasks.data.files import are_prompts
from mera_ru_tasks.issues import TaskError
from mera_ru_tasks.paths import FunctionName, read_task_file, task_names
from mera_ru_tasks.textutil import quoted

SETTINGS = (
    "mera_ru_path", "mera_ru_hub", "mera_ru_answer", "mera_ru_options", "mera_ru_type_field", "mera_ru_groups",
    "mera_ru_prompts", "mera_ru_prefill",
)  # fmt: skip
CLASS = "mera_ru_tasks.CustomTask"
# Other letters (И, К, О, С, У, Я) are often words, so answer extraction could only guess.
_ALPHABETS = ("АБВГДЕЖЗ", "АБВГДЕЁЖЗ")


def benchmark_of_file(file: Path) -> tuple[Benchmark, Mapping[str, Any]]:
    """Return the dataset that the YAML file of a custom task describes, and the file's `dataset_kwargs`.

    Raises:
        TaskError: the file cannot be read, does not describe a custom task, or has an invalid setting.
    """
    config = read_task_file(file)
    task, settings = config.get("task"), config.get("dataset_kwargs")
    if not isinstance(task, str) or not isinstance(settings, Mapping):
        raise TaskError(f"{file} is not a custom task: it needs `task` and `dataset_kwargs`.")
    named = config.get("class")
    if not isinstance(named, FunctionName) or (named.startswith("mera_ru_tasks.") and named != CLASS):
        raise TaskError(f"{file}, `class`: lm-eval cannot find the task class. Write `class: !function {CLASS}`.")
    return custom_benchmark(task, settings), settings


def benchmark_of_config(task: str, config: Mapping[str, Any]) -> Benchmark | None:
    """Return the dataset that a task's configuration in a log describes, or None if it is not a custom task."""
    settings = config.get("dataset_kwargs")
    if not isinstance(settings, Mapping) or "mera_ru_answer" not in settings:
        return None
    return custom_benchmark(task, settings)


def custom_benchmark(task: str, settings: Mapping[str, Any]) -> Benchmark:
    """Return the dataset that the `dataset_kwargs` of a custom task describe.

    The settings are:

        mera_ru_path        the folder that contains test.json, or
        mera_ru_hub         the name of the dataset on the hub
        mera_ru_answer      `phrase`, `text`, or letters such as `{choices: АБВГ, max_choices: 1, with_phrase: false}`;
                            or a mapping from types to such answer formats
        mera_ru_options     the prefix of the option inputs, if the number of options differs between rows
        mera_ru_type_field  the `meta` field with the type
        mera_ru_groups      true if rows with the same `meta.group_id` are also scored as a group
        mera_ru_prompts     prompts for rows without a prompt
        mera_ru_prefill     true if the prompt ends with the marker, for base models

    Args:
        task: the name of the task, which is also used for the dataset.
        settings: the `dataset_kwargs`.

    Raises:
        TaskError: a setting is unknown, missing or invalid.
    """
    # Comparisons call a mean over this package's tasks `mean` or `mean VARIANT`.
    if task in task_names() or task.partition(" ")[0] == "mean":
        raise TaskError(f"The task {task!r}: this package already uses that name. Choose another one in `task`.")
    if unknown := sorted(set(settings) - set(SETTINGS)):
        raise _wrong(task, unknown[0], "the setting is unknown", f"Available: {', '.join(SETTINGS)}.")
    names = ("path", "hub", "type_field", "options")
    path, hub, type_field, options = (settings.get(f"mera_ru_{name}") for name in names)
    for name, value in zip(names, (path, hub, type_field, options), strict=True):
        name = f"mera_ru_{name}"
        if value is not None and not (isinstance(value, str) and value):
            raise _wrong(task, name, f"{quoted(value)} is not a non-empty string", "Write a string.")
    if type_field in ("id", "group_id", "group_size"):
        raise _wrong(task, "mera_ru_type_field", f"`meta.{type_field}` is reserved", "Use another field.")
    if (path is None) == (hub is None):
        what = "both a folder and a hub dataset are set" if path else "neither a folder nor a hub dataset is set"
        hint = "Set either `mera_ru_path` to a folder or `mera_ru_hub` to a hub dataset."
        raise _wrong(task, "mera_ru_path", what, hint)
    for name in ("mera_ru_prefill", "mera_ru_groups"):
        if not isinstance(settings.get(name, False), bool):
            raise _wrong(task, name, f"it is {quoted(settings[name])}", "Write true or false.")
    prompts = settings.get("mera_ru_prompts", [])
    if not are_prompts(prompts) or ("mera_ru_prompts" in settings and not prompts):
        hint = "Write a list in which each prompt is a string or an object with `instruction`."
        raise _wrong(task, "mera_ru_prompts", "it is not a list of prompts", hint)
    formats = _formats(task, settings.get("mera_ru_answer"), typed=type_field is not None)
    if options and not all(one.choices for one in formats.values()):
        raise _wrong(task, "mera_ru_options", "the answers are not letters", "Remove the setting.")
    if options:
        formats = {kind: replace(one, options=options) for kind, one in formats.items()}
    groups = ("group_id",) if settings.get("mera_ru_groups") else ()
    return Benchmark(
        name=task,
        title=task,
        hub=hub,
        folders=(task.lower(),),
        inputs=(),
        meta=(*groups, *([type_field] if type_field else [])),
        type_field=type_field,
        formats=formats,
        path=Path(path) if path else None,
        options=options or "",
        has_text_types=type_field is not None and not all(isinstance(kind, int) for kind in formats),
        prompts=tuple(prompts),
    )


_WORDS = {"phrase": PHRASE, "text": TEXT}


def _formats(task: str, answer: Any, *, typed: bool) -> Mapping[int | str | None, AnswerFormat]:
    if (
        not typed
        or (isinstance(answer, str) and answer in _WORDS)
        or (isinstance(answer, Mapping) and "choices" in answer)
    ):
        return {None: _format(task, answer)}
    if not (isinstance(answer, Mapping) and answer):
        hint = "Write one answer format for all types, or a mapping such as `{1: …, 2: …}`."
        what = f"{quoted(answer)} is neither an answer format nor a mapping from types to answer formats"
        raise _wrong(task, "mera_ru_answer", what, hint)
    # In lm-eval's logs the types are strings, because they are keys of JSON objects.
    are_numbers = all(re.fullmatch(r"-?[0-9]{1,18}", str(kind)) for kind in answer)
    formats: dict[int | str | None, AnswerFormat] = {
        int(kind) if are_numbers else str(kind): _format(task, one) for kind, one in answer.items()
    }
    if len({(bool(one.choices), one.max_choices > 1, one.whole) for one in formats.values()}) > 1:
        # Each kind of answer has its own metrics, but lm-eval computes a task's metrics over all its documents.
        hint = (
            "All types of a task must have the same kind of answer: phrases, texts, one letter or several letters. "
            "Split the data into one task for each kind."
        )
        raise _wrong(task, "mera_ru_answer", "the types have different kinds of answers", hint)
    return formats


def _format(task: str, answer: Any) -> AnswerFormat:
    if isinstance(answer, str) and answer in _WORDS:
        return _WORDS[answer]
    alphabets = " or ".join(_ALPHABETS)
    hint = f"Write `phrase`, `text`, or `{{choices: АБВГ, max_choices: 1}}` with the first letters of {alphabets}."
    if not isinstance(answer, Mapping) or not set(answer) <= {"choices", "max_choices", "with_phrase"}:
        what = "it is missing" if answer is None else f"{quoted(answer)} is not an answer format"
        raise _wrong(task, "mera_ru_answer", what, hint)
    choices = answer.get("choices")
    max_choices, with_phrase = answer.get("max_choices", 1), answer.get("with_phrase", False)
    if (
        not isinstance(choices, str)
        or len(choices) < 2
        or not any(letters.startswith(choices) for letters in _ALPHABETS)
    ):
        latin = ", ".join(letter for letter in str(choices) if letter.isascii() and letter.isalpha())
        what = f"the choices {quoted(choices)} are not supported" + (f" (Latin letters: {latin})" if latin else "")
        raise _wrong(task, "mera_ru_answer", what, hint)
    if type(max_choices) is not int or not 1 <= max_choices <= len(choices):
        what = f"`max_choices` is {quoted(max_choices)}"
        raise _wrong(task, "mera_ru_answer", what, f"Write a number from 1 to {len(choices)}.")
    if not isinstance(with_phrase, bool) or (with_phrase and max_choices > 1):
        what = f"`with_phrase` is {quoted(with_phrase)} and `max_choices` is {max_choices}"
        raise _wrong(task, "mera_ru_answer", what, "`with_phrase` can be true only if `max_choices` is 1.")
    return AnswerFormat(choices, max_choices, with_phrase)


def _wrong(task: str, setting: str, what: str, hint: str) -> TaskError:
    return TaskError(f"The task {task!r}, `dataset_kwargs`, `{setting}`: {what}. {hint}")
