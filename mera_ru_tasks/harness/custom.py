"""A user's own dataset in MERA's format as a task.

A short YAML file names the data and the form of the answers:

    task: school_riddles
    class: !function mera_ru_tasks.CustomTask
    dataset_kwargs:
      mera_ru_path: /data/school_riddles
      mera_ru_answer: phrase
    metadata:
      version: 1.0

Everything else is as in this package's own tasks: the same checks of the data, filters and metrics, from the same
shared YAML files. lm-eval includes a file only by its path, which differs between machines. A class is imported by
name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lm_eval.tasks._yaml_loader import load_yaml

from mera_ru_tasks.data.benchmarks import AnswerFormat, Benchmark
from mera_ru_tasks.data.custom import custom_benchmark
from mera_ru_tasks.errors import TaskError
from mera_ru_tasks.harness import patches, task
from mera_ru_tasks.paths import shared_yaml
from mera_ru_tasks.scoring.metrics import METRICS


class CustomTask(task.MeraTask):
    """A task on a dataset that is not part of MERA Text 2.0 but has its format."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        """Take the content of the user's YAML file: lm-eval's own keys and this package's.

        Raises:
            TaskError: a setting is unknown, missing or invalid; the message names the task, the setting and the fix.
            DataError: as `data.load` raises it.
        """
        patches.prepare_lm_eval()
        if "gen_prefix" in config:
            raise TaskError(
                f"The task {config['task']!r}, `gen_prefix`: after the run the scores could not take it into account. "
                "For a prompt that ends in the marker write `mera_ru_prefill: true` under `dataset_kwargs`."
            )
        settings = config.get("dataset_kwargs") or {}
        self._benchmark = custom_benchmark(config["task"], settings)
        base = _base_config(self._benchmark, prefill=settings.get("mera_ru_prefill", False))
        # Without the base's `until` lm-eval would stop at the first blank line.
        generation = {**base["generation_kwargs"], **task.with_one_limit(config.get("generation_kwargs") or {})}
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


def _metrics_name(answer_format: AnswerFormat) -> str:
    """Return the name of the shared file with the metrics of such answers."""
    if not answer_format.choices:
        return "phrase"
    return "multi_choice" if answer_format.max_choices > 1 else "choice"


def _base_config(benchmark: Benchmark, *, prefill: bool) -> dict[str, Any]:
    """Return what this package's own tasks with such answers include; metrics over groups only if there are groups."""
    config: dict[str, Any] = {}
    for name in ("base", "prefill" if prefill else "plain", _metrics_name(next(iter(benchmark.formats.values())))):
        config |= load_yaml(shared_yaml(name))
    del config["custom_dataset"]
    metrics = [metric for metric in config["metric_list"] if not METRICS[metric["metric"]].grouped]
    if benchmark.grouped:
        metrics += [
            metric for metric in load_yaml(shared_yaml("choice"))["metric_list"] if METRICS[metric["metric"]].grouped
        ]
    return {**config, "metric_list": metrics}
