"""`mera-ru tasks`, `path` and `doctor`."""

from __future__ import annotations

import re
import sys

import pytest

from mera_ru_tasks.paths import task_names, yaml_folder
from tests.support.rows import data_folder, riddle


@pytest.fixture(autouse=True)
def no_settings(monkeypatch, tmp_path):
    for name in ("LM_EVAL_JUDGE_API_BASE", "LM_EVAL_JUDGE_MODEL", "LM_EVAL_JUDGE_API_KEY", "MERA_RU_NO_AUTOLOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))


def rows(out):
    return {line.split()[0]: re.split(r"\s{2,}", line.strip())[1:] for line in out.splitlines()[1:]}


def test_every_task_is_listed_with_its_data_and_size(mera_ru, monkeypatch, tmp_path):
    listed = rows(mera_ru("tasks").out)
    assert list(listed) == task_names()
    assert listed["riddles_sample"] == ["part of the package", "60"]
    assert listed["enantiosemy"][0].startswith("hub: MERA-evaluation/Enantiosemy") and listed["enantiosemy"][1] == "506"
    assert listed["enantiosemy_shots"][1] == "?" and listed["riddles_open"][1] == "–"
    assert listed["mera_ru"] == ["group of enantiosemy, riddles_closed, russian_regions"]
    root = data_folder(tmp_path / "data", "riddles", [riddle(1), riddle(2)], [riddle(3)])
    monkeypatch.setenv("MERA_RU_DATA", str(root))
    listed = rows(mera_ru("tasks").out)
    assert listed["riddles_closed"] == [str(root / "riddles"), "2"]
    assert listed["riddles_closed_shots"][1] == "1" and listed["russian_regions"][1] == "–"
    assert listed["riddles_sample"] == ["part of the package", "60"]


def test_the_doctor_finds_nothing_to_fix_or_says_what(mera_ru, monkeypatch, tmp_path):
    finder = type("MeraRuTasksFinder", (), {"find_spec": lambda *_: None})()
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, finder])
    well = mera_ru("doctor")
    assert well.status == 0 and "to fix" not in well.out
    assert "lm-eval " in well.out and "not configured" in well.out

    def complaints():
        outcome = mera_ru("doctor")
        assert outcome.status == 1
        return [line for line in outcome.out.splitlines() if "to fix" in line]

    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "JUDGE")
    assert ["LM_EVAL_JUDGE_API_BASE" in line for line in complaints()] == [True]
    monkeypatch.delenv("LM_EVAL_JUDGE_MODEL")
    monkeypatch.setenv("MERA_RU_DATA", str(data_folder(tmp_path, "riddles", [riddle(1)])))
    assert [line.split()[2] for line in complaints()] == ["enantiosemy:", "russian_regions:"]
    monkeypatch.delenv("MERA_RU_DATA")
    monkeypatch.setenv("MERA_RU_NO_AUTOLOAD", "1")
    assert ["mera-ru path" in line for line in complaints()] == [True]


def test_the_doctor_never_shows_a_key(mera_ru, monkeypatch, tmp_path):
    monkeypatch.setenv("LM_EVAL_JUDGE_API_BASE", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("LM_EVAL_JUDGE_MODEL", "JUDGE")
    monkeypatch.setenv("LM_EVAL_JUDGE_API_KEY", "sk-very-secret-0123456789")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    out = mera_ru("doctor").out
    assert "JUDGE at http://127.0.0.1:9/v1" in out and "secret" not in out
    assert str(tmp_path / "mera-ru-tasks" / "judge.sqlite") in out


def test_path_names_the_folder(mera_ru):
    assert mera_ru("path").out.strip() == str(yaml_folder())
