"""The YAML files of the tasks agree with the Python modules."""

from __future__ import annotations

from typing import Any

import pytest
from lm_eval.tasks import TaskManager
from lm_eval.tasks._yaml_loader import load_yaml

from mera_ru_tasks.compare.verdicts import mean_of, variant_of_mean
from mera_ru_tasks.paths import averaged_groups, shared_yaml, task_files, yaml_folder
from mera_ru_tasks.scoring.metrics import METRICS, group_mean, total_ratio
from mera_ru_tasks.scoring.strict import MARKER

SHARED = sorted(path.name.removesuffix("_yaml") for path in (yaml_folder() / "_shared").iterdir())


def test_each_file_is_named_after_its_task_or_group() -> None:
    for name, file in task_files().items():
        settings = load_yaml(file, resolve_func=False)
        assert settings.get("task" if "class" in settings else "group") == name


def test_lm_eval_finds_each_file() -> None:
    found = TaskManager(include_defaults=False, include_path=str(yaml_folder())).all_tasks
    assert set(found) == {*task_files(), "mera_ru_tasks"}


def test_a_group_has_a_mean_unless_its_tasks_are_ranked() -> None:
    groups = {path.stem for path in (yaml_folder() / "groups").iterdir()}
    assert set(averaged_groups()) == {group for group in groups if not group.endswith("_rank")}
    assert {variant_of_mean(mean_of(group)) for group in averaged_groups()} == {
        "", "sample", "prefill", "shots", "sample_prefill",
    }  # fmt: skip
    assert [variant_of_mean(task) for task in ("meaning_quiz", "mean city", "mera_ru_sample")] == [None] * 3


@pytest.mark.parametrize("name", SHARED)
def test_the_metrics_are_those_of_the_table(name: str) -> None:
    order = list(METRICS)
    listed: list[dict[str, Any]] = load_yaml(shared_yaml(name)).get("metric_list", [])
    for entry in listed:
        metric = METRICS[entry["metric"]]
        expected = group_mean if metric.grouped else total_ratio if metric.ratio else "mean"
        assert (entry["aggregation"], entry["higher_is_better"]) == (expected, metric.higher_is_better)
    assert [entry["metric"] for entry in listed] == sorted((entry["metric"] for entry in listed), key=order.index)


def test_the_marker_is_the_one_of_strict_match() -> None:
    assert load_yaml(shared_yaml("prefill"))["gen_prefix"] == MARKER
