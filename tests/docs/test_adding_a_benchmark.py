"""The documented way to add a benchmark."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mera_ru_tasks.data import benchmarks
from mera_ru_tasks.paths import yaml_folder
from tests.support.documents import REPOSITORY, blocks
from tests.support.rows import data_folder
from tests.support.scripted import numbers, reference, run


def test_the_documented_way_to_add_a_benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = REPOSITORY / "CONTRIBUTING.md"
    [python], [task] = blocks(document, "python"), blocks(document, "yaml")
    assert len((python + task).splitlines()) < 30
    names = dict(vars(benchmarks))
    exec(python, names)
    added: benchmarks.Benchmark = names["PROVERBS"]
    monkeypatch.setitem(benchmarks.BENCHMARKS, added.name, added)  # type: ignore[arg-type]
    tasks = tmp_path / "yaml_tasks" / "proverbs"
    tasks.mkdir(parents=True)
    shutil.copytree(yaml_folder() / "_shared", tmp_path / "yaml_tasks" / "_shared")
    (tasks / "proverbs.yaml").write_text(task)
    row = {
        "instruction": "{text}", "inputs": dict.fromkeys(added.inputs, "слово"), "outputs": "В", "meta": {"id": 1},
    }  # fmt: skip
    results = run(None, ["proverbs"], reference, data=data_folder(tmp_path, "Proverbs", [row]), task_folders=[tasks])
    assert numbers(results, "proverbs") == {
        "exact_match,strict-match": 1, "exact_match,flexible-extract": 1, "answered,flexible-extract": 1,
        "letter_match,flexible-extract": 1,
    }  # fmt: skip
    assert set(results["higher_is_better"]["proverbs"]) >= {"exact_match", "answered", "letter_match"}
