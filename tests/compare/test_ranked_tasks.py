"""Comparisons of ranking tasks: chance levels, direction, and no note about responses."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mera_ru_tasks.scoring.ranking import options_of
from tests.support.command import Command
from tests.support.known_scores import RANKING_CHANCE
from tests.support.scripted import RankingModel, Value, run

CHANCE = {**RANKING_CHANCE, "top1": 0.469, "bits_per_byte": None, "group_cloze_acc_bytes": None}


def ranker(name: str, preference: float, cost: float) -> Value:
    """Create a model that prefers correct options and needs `cost` more nats for each byte."""

    def value(doc: Mapping[str, Any], context: str, text: str) -> float:
        is_right = any(option.right and text == f" {option.text}" for option in options_of(doc))
        noise = random.Random(name + context + text).random()
        return -(cost + noise - preference * is_right) * len(text.encode())

    return value


def test_a_better_ranker_wins_by_fewer_bits(tmp_path: Path, mera_ru: Command) -> None:
    for name, preference, cost in (("good", 0.5, 0.7), ("poor", 0.0, 1.4)):
        run(
            tmp_path / "logs",
            ["mera_ru_sample_rank"],
            RankingModel(ranker(name, preference, cost)),
            model=f"org/{name}",
        )
    called = mera_ru("compare", str(tmp_path / "logs"), "--baseline", "poor", "-o", str(tmp_path / "out.json"))
    assert called.status == 0, called.err
    found = json.loads((tmp_path / "out.json").read_text())
    chance = {row["metric"]: row["chance"] for row in found["scores"]}
    for metric, level in CHANCE.items():
        assert chance[metric] == (level if level is None else pytest.approx(level, abs=0.001)), metric
    [bits] = [pair for pair in found["pairs"] if pair["metric"] == "bits_per_byte"]
    assert bits["difference"]["value"] < 0 and bits["verdict"] == "better"
    assert (bits["difference"]["won"], bits["difference"]["lost"]) == (60, 0)
    assert found["problems"] == []
    tables = mera_ru("compare", str(tmp_path / "logs"), "--all").out.splitlines()
    heads = [line for line in tables if line.startswith(tuple(CHANCE))]
    assert (
        [line for line in heads if "lower is better" in line]
        == [line for line in heads if line.startswith("bits_per_byte")]
        != []
    )
