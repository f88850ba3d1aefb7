"""The names of data in `mera-ru data`, and the messages about mistakes."""

from __future__ import annotations

import json

import pytest

from mera_ru_tasks.data.benchmarks import ENANTIOSEMY, RIDDLES_CLOSED
from tests.support.broken_data import broken
from tests.support.synthetic import write_data


def test_markup_and_control_characters_in_data_do_nothing(mera_ru, tmp_path):
    hostile = "[red]А[/red]\x1b[31m\u202e[link=http://x]"
    folder = broken(tmp_path / "data", RIDDLES_CLOSED, lambda test, shots: test[1]["meta"].update(id=hostile))
    (folder / "SHA256SUMS").write_text(f"0  {hostile}\n")
    out = mera_ru("data", "check", folder).out
    assert "\x1b" not in out and "\u202e" not in out and "[red]" in out
    shown = broken(tmp_path / "other", RIDDLES_CLOSED, lambda test, shots: test[0]["inputs"].update(question=hostile))
    out = mera_ru("data", "show", "riddles_closed", "--data", shown.parent, "--response", f"Ответ: {hostile}").out
    assert "\x1b" not in out and "\u202e" not in out and out.count("[red]А[/red]\\x1b[31m\\u202e") == 4


TARGETS = {
    "a benchmark's folder": (["data/Enantiosemy"], ["enantiosemy"]),
    "a folder around the data folder": (["."], ["enantiosemy", "riddles_closed"]),
    "a data folder": (["data"], ["enantiosemy", "riddles_closed"]),
    "a folder of another name": (["copy", "--benchmark", "riddles_closed"], ["riddles_closed"]),
    "shipped data by a task's name": (["riddles_open_sample"], ["riddles_open"]),
    "a benchmark by its name": (["riddles_closed"], ["riddles_closed"]),
}


@pytest.mark.parametrize("case", TARGETS)
def test_every_way_to_name_data(case, mera_ru, monkeypatch, tmp_path):
    write_data(tmp_path / "data", rows_per_type=2, benchmarks=(ENANTIOSEMY, RIDDLES_CLOSED))
    (tmp_path / "copy").symlink_to("data/Riddles")
    monkeypatch.setenv("MERA_RU_DATA", "data")
    arguments, benchmarks = TARGETS[case]
    outcome = mera_ru("data", "check", *arguments, "--format", "json")
    assert outcome.status == 0, outcome
    assert [report["benchmark"] for report in json.loads(outcome.out)] == benchmarks


MISTAKES = {
    "no such thing": (
        ["check", "nowhere"],
        1,
        "neither a folder nor the name of a benchmark or task. To list the tasks",
    ),
    "a group": (
        ["check", "mera_ru"],
        1,
        "mera_ru is neither a folder nor the name of a benchmark or task. To list the tasks",
    ),
    "a file": (["check", "file.json"], 1, "file.json is a file, not a folder"),
    "a folder of nothing": (["check", "empty"], 1, "set --benchmark"),
    "no such benchmark for a folder": (
        ["check", "empty", "--benchmark", "mmlu"],
        1,
        "no benchmark 'mmlu'. Available: en",
    ),
    "a folder that is none": (["check", "file.json", "--benchmark", "riddles_closed"], 1, "file.json is not a folder"),
    "a set that is not on the hub": (["check", "riddles_open"], 1, "is not on the hub. Set MERA_RU_DATA"),
    "fetch what is not on the hub": (
        ["fetch", "riddles_open", "-o", "x"],
        1,
        "so it cannot be fetched",
    ),
    "fetch nothing known": (
        ["fetch", "riddles_close", "-o", "x"],
        1,
        "mean 'riddles_closed' or 'riddles_open'?",
    ),
    "fetch what is shipped": (
        ["fetch", "riddles_sample", "-o", "x"],
        1,
        "are part of the package and need not be fetched",
    ),
    "fetch to nowhere": (["fetch", "enantiosemy"], 2, "--output"),
    "show nothing known": (["show", "mmlu"], 1, "no benchmark or task 'mmlu'. To list the tasks"),
    "show nothing near": (["show", "riddles_sampl"], 1, "Did you mean 'riddles_sample' or "),
    "show no such id": (
        ["show", "riddles_sample", "--id", "999"],
        1,
        "no document with id 999. Ids range from 1 to 60 in test and from 61 to 65 in shots",
    ),
    "show no number": (["show", "riddles_sample", "--id", "x"], 2, "--id"),
    "show without the data": (["show", "riddles_closed", "--data", "empty"], 1, "has no folder `riddles_closed`"),
    "no target": (["check"], 2, "Missing argument"),
    "another format": (["check", "empty", "--format", "xml"], 2, "--format"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_ends_with_its_message(case, mera_ru, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.json").touch()
    arguments, status, message = MISTAKES[case]
    outcome = mera_ru("data", *arguments)
    assert outcome.status == status and message in outcome.err and "Traceback" not in outcome.err
