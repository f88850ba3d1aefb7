"""A user's own dataset in MERA's format as a task: a short YAML file names the data and the form of their answers.

    task: school_riddles
    class: !function mera_ru_tasks.CustomTask
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
from typing import Any

from lm_eval.tasks._yaml_loader import load_yaml

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.data.custom import own_benchmark
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.harness import task
from mera_ru_tasks.paths import yaml_folder


class CustomTask(task.MeraTask):
    """A task on a dataset that is not one of MERA Text 2.0, but has its format."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Take the content of the user's YAML file, with lm-eval's own keys beside ours.

        Raises:
            TaskError: a setting is unknown, missing or wrong; the message names the task, the setting and the remedy.
            DataError: as `data.load` raises it.
        """
        if "gen_prefix" in config:
            raise TaskError(
                f"The task {config['task']!r}, `gen_prefix`: the readings would not know of it. For a prompt that ends "
                "in the marker write `mera_ru_prefill: true` under `dataset_kwargs`."
            )
        settings = config.get("dataset_kwargs") or {}
        self._benchmark = own_benchmark(config["task"], settings)
        base = _base_config(self._benchmark.formats.values(), prefill=settings.get("mera_ru_prefill", False))
        # Without the base's `until` lm-eval would stop at the first blank line.
        generation = {**base["generation_kwargs"], **(config.get("generation_kwargs") or {})}
        super().__init__(config={**base, **config, "generation_kwargs": generation})

    def download(self, dataset_kwargs: dict[str, Any] | None = None, **_: Any) -> None:
        """Load the documents; the run's `--metadata` can name a revision and a data folder, as for our tasks."""
        metadata = self.config.metadata or {}
        self.dataset = task.load_benchmark(
            self._benchmark,
            data=metadata.get("mera_ru_data"),
            revision=metadata.get("mera_ru_revision"),
            scored=self.config.test_split,
        )


def _base_name(answer_format: AnswerFormat) -> str:
    """The base file of the benchmark with the same kind of answers."""
    if not answer_format.choices:
        return "_riddles_yaml"
    return "_enantiosemy_yaml" if answer_format.max_choices > 1 else "_russian_regions_yaml"


def _base_config(formats: Iterable[AnswerFormat], *, prefill: bool) -> dict[str, Any]:
    """What this package's own tasks with such answers include, but for metrics over groups."""
    config: dict[str, Any] = {}
    for name in ("_task_yaml", "_prefill_yaml" if prefill else "_plain_yaml", _base_name(next(iter(formats)))):
        config |= load_yaml(yaml_folder() / name)
    del config["custom_dataset"]
    metrics = [metric for metric in config["metric_list"] if not metric["metric"].startswith("group_")]
    return {**config, "metric_list": metrics}
