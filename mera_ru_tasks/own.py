"""A user's own dataset in MERA's format as a task: a short YAML file names the data and the form of their answers.

    task: school_riddles
    class: !function mera_ru_tasks.own.OwnTask
    dataset_kwargs:
      mera_ru_path: /data/school_riddles
      mera_ru_answer: phrase
    metadata:
      version: 1.0

All else is as in this package's own tasks: the same checks of the data, pipelines and metrics, from the same base YAML
files. lm-eval can only include a file by its path, which differs from machine to machine; a class it imports by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lm_eval.api.task import ConfigurableTask
from lm_eval.tasks._yaml_loader import load_yaml

from mera_ru_tasks import harness
from mera_ru_tasks.benchmarks import PHRASE, AnswerFormat, Benchmark
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.paths import yaml_folder

_SETTINGS = ("mera_ru_path", "mera_ru_hub", "mera_ru_answer", "mera_ru_type_field", "mera_ru_prefill")
# Further letters (И, К, О, С, У, Я) are words as often as options, so a reading could only guess.
_LETTERS = "АБВГДЕЖЗ"


class OwnTask(ConfigurableTask):  # type: ignore[misc]
    """A task on a dataset that is not one of MERA Text 2.0, but has its format."""

    def __init__(self, config: dict[str, Any]) -> None:
        """Take the content of the user's YAML file, with lm-eval's own keys beside ours.

        Raises:
            TaskError: a setting is unknown, missing or wrong; the message names the task, the setting and the remedy.
            DataError: as `data.load` raises it.
        """
        settings = config.get("dataset_kwargs") or {}
        self._benchmark = own_benchmark(config["task"], settings)
        base = _base_config(self._benchmark.formats.values(), prefill=settings.get("mera_ru_prefill", False))
        given = {name: value for name, value in config.items() if name != "class"}
        # Without the base's `until` lm-eval would stop at the first blank line.
        generation = {**base["generation_kwargs"], **(config.get("generation_kwargs") or {})}
        super().__init__(config={**base, **given, "generation_kwargs": generation})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents; the run's `--metadata` can name a revision and a data folder, as for our tasks."""
        metadata = self.config.metadata or {}
        self.dataset = harness.load_benchmark(
            self._benchmark,
            data=metadata.get("mera_ru_data"),
            revision=metadata.get("mera_ru_revision"),
            scored=self.config.test_split,
        )


def own_benchmark(task: str, settings: Mapping[str, Any]) -> Benchmark:
    """What the `dataset_kwargs` of a task say of its data.

    Args:
        task: the task's name, which messages name the dataset by.
        settings: `mera_ru_path` (a folder that holds test.json) or `mera_ru_hub` (a dataset's name on the hub);
            `mera_ru_answer`, `phrase` or `{letters: АБВГ, most: 1, unit: false}`, or, with `mera_ru_type_field`, such a
            form for each type; `mera_ru_prefill`, whether the prompt ends in the marker, for base models.

    Raises:
        TaskError: a setting is unknown, missing or wrong.
    """
    if unknown := sorted(set(settings) - set(_SETTINGS)):
        raise _wrong(task, unknown[0], "there is no such setting", f"Settings: {', '.join(_SETTINGS)}.")
    path, hub, type_field = (settings.get(f"mera_ru_{name}") for name in ("path", "hub", "type_field"))
    for name, value in (("mera_ru_path", path), ("mera_ru_hub", hub), ("mera_ru_type_field", type_field)):
        if value is not None and not (isinstance(value, str) and value):
            raise _wrong(task, name, f"{value!r} is no name", "Write it as a string.")
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
    if not (isinstance(answer, Mapping) and answer and all(type(kind) is int for kind in answer)):
        remedy = "With `mera_ru_type_field`, write a form of answer for each type: `{1: …, 2: …}`."
        raise _wrong(task, "mera_ru_answer", f"{answer!r} is not keyed by types", remedy)
    formats = {kind: _format(task, one) for kind, one in answer.items()}
    if len({_base_name(one) for one in formats.values()}) > 1:
        # Each form has metrics of its own, and lm-eval computes a task's metrics over all of its documents.
        remedy = "Types of one task answer with a phrase, or one letter, or several letters: make a task of each."
        raise _wrong(task, "mera_ru_answer", "the types have different kinds of answers", remedy)
    return formats


def _format(task: str, answer: Any) -> AnswerFormat:
    if answer == "phrase":
        return PHRASE
    remedy = f"Write `phrase`, or `{{letters: АБВГ, most: 1}}` with letters from {_LETTERS} in that order."
    if not isinstance(answer, Mapping) or not set(answer) <= {"letters", "most", "unit"}:
        what = "it is missing" if answer is None else f"{answer!r} is no form of answer"
        raise _wrong(task, "mera_ru_answer", what, remedy)
    letters, most, unit = answer.get("letters"), answer.get("most", 1), answer.get("unit", False)
    if not isinstance(letters, str) or len(letters) < 2 or not _LETTERS.startswith(letters):
        raise _wrong(task, "mera_ru_answer", f"the letters {letters!r} cannot be read", remedy)
    if type(most) is not int or not 1 <= most <= len(letters):
        raise _wrong(task, "mera_ru_answer", f"`most` is {most!r}", f"It is a number from 1 to {len(letters)}.")
    if not isinstance(unit, bool) or (unit and most > 1):
        what = f"`unit` is {unit!r}, `most` {most}"
        raise _wrong(task, "mera_ru_answer", what, "A language unit (`unit: true`) follows one letter.")
    return AnswerFormat(letters, most, unit)


def _wrong(task: str, setting: str, what: str, remedy: str) -> TaskError:
    return TaskError(f"The task {task!r}, `dataset_kwargs`, `{setting}`: {what}. {remedy}")


def _base_name(answer_format: AnswerFormat) -> str:
    """The base file of the benchmark with the same kind of answers."""
    if not answer_format.letters:
        return "_riddles_yaml"
    return "_enantiosemy_yaml" if answer_format.most > 1 else "_russian_regions_yaml"


def _base_config(formats: Iterable[AnswerFormat], *, prefill: bool) -> dict[str, Any]:
    """What this package's own tasks with such answers include, but for metrics over groups."""
    config: dict[str, Any] = {}
    for name in ("_task_yaml", "_prefill_yaml" if prefill else "_plain_yaml", _base_name(next(iter(formats)))):
        config |= load_yaml(yaml_folder() / name)
    del config["custom_dataset"]
    metrics = [metric for metric in config["metric_list"] if not metric["metric"].startswith("group_")]
    return {**config, "metric_list": metrics}
