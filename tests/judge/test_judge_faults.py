"""If 30% of replies fail in 13 ways, every verdict equals that of a server without faults or is reported as missing."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest

from tests.support.judge_stub import FAULTS, FURTHER_FAULTS, StubJudge
from tests.support.scripted import run

KINDS = (*FAULTS, *FURTHER_FAULTS)
pytestmark = [pytest.mark.usefixtures("quick_backoff"), pytest.mark.slow]


class Faulty:
    """Return a fault for 30% of requests. The same seed gives the same faults."""

    def __init__(self, seed: int) -> None:
        self.random, self.used = random.Random(seed), Counter[str]()

    def __call__(self, message: str, attempt: int) -> str | None:
        if "Зимой и летом" in message or self.random.random() >= 0.3:
            return None
        kind = self.random.choice(KINDS)
        self.used[kind] += 1
        return kind


def answer(doc, prompt):
    return f"Ответ: предмет {doc['meta']['id']}"


def environment(monkeypatch, stub, folder):
    names = {"API_BASE": stub.url, "MODEL": "stub", "CACHE": folder / "judge.sqlite", "TIMEOUT": "0.5"}
    for name, value in names.items():
        monkeypatch.setenv(f"LM_EVAL_JUDGE_{name}", str(value))


def compared(sound: dict[int, object], faulty: dict[int, object], used: Counter[str], where: str) -> None:
    """Compare two sets of verdicts by document. None is a missing verdict."""
    missing = sum(faulty[doc] is None for doc in sound)
    wrong = [doc for doc in sound if faulty[doc] not in (None, sound[doc])]
    counted = f"{sum(used.values())} faults of {len(used)} kinds, {missing} missing, {len(wrong)} wrong"
    print(f"{where}: {len(sound)} verdicts, {counted}")
    assert wrong == [] and sound.keys() == faulty.keys() and None not in sound.values()
    assert len(used) == len(KINDS) and missing < len(sound) / 2


def test_in_the_command(tmp_path, mera_ru, monkeypatch):
    run(tmp_path / "results", ["riddles_sample", "russian_regions_sample"], answer)

    def verdicts() -> dict[int, object]:
        found = {}
        for file in sorted((tmp_path / "results").rglob("judged_stub_*.jsonl")):
            for line in file.read_text(encoding="utf-8").split("\n")[:-1]:
                row = json.loads(line)
                found[file.name, row["doc_id"]] = row["scores"].get("judge_score")
            file.unlink()
        return found

    faults = Faulty(1)
    results = []
    for faulty in (faults, None):
        with StubJudge(faults=faulty) as stub:
            environment(monkeypatch, stub, tmp_path / str(faulty is None))
            outcome = mera_ru("judge", "results")
        results.append(verdicts())
        number = sum(score is None for score in results[-1].values())
        assert outcome.status == (1 if number else 0), outcome
        assert (f"{number} of" in outcome.err or "failed: " in outcome.err) or not number
    compared(results[1], results[0], faults.used, "mera-ru judge")


def test_in_the_harness(tmp_path, monkeypatch):
    tasks = ["riddles_sample", "russian_regions_sample"]
    faults = Faulty(2)
    results = []
    for faulty in (faults, None):
        with StubJudge(faults=faulty) as stub:
            environment(monkeypatch, stub, tmp_path / str(faulty is None))
            samples = run(None, tasks, answer, log_samples=True)["samples"]
        rows = [(task, row) for task in tasks for row in samples[task] if row["filter"] == "strict-match"]
        results.append({(task, row["doc_id"]): row.get("judge_score") for task, row in rows})
    results = [{key: None if score != score else score for key, score in part.items()} for part in results]
    compared(results[1], results[0], faults.used, "the harness")
