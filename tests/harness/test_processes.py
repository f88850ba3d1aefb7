"""Scores depend neither on the order of documents nor on the number of processes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mera_ru_tasks.issues import DataError
from mera_ru_tasks.scoring.metrics import group_mean
from tests.support.known_scores import CASES, EXPECTED, REGIONS, answer_of
from tests.support.processes import run_in_processes
from tests.support.rows import data_folder, riddle
from tests.support.scripted import Answer, numbers, run


def right_once(answer: Answer) -> Answer:
    """A model that is correct only on the first call for a document, because lm-eval repeats requests to pad shares."""
    asked = set()

    def once(doc: Mapping[str, Any], prompt: str) -> str | None:
        identity = doc["meta"]["id"]
        if identity in asked:
            return "Ответ: Ж"
        asked.add(identity)
        return answer(doc, prompt)

    return once


@pytest.mark.parametrize("task", ["russian_regions", "enantiosemy"])
@pytest.mark.parametrize("size", [1, 2, 4])
def test_scores_do_not_depend_on_the_number_of_processes(tmp_path: Path, task: str, size: int) -> None:
    cases = CASES[task]
    shots = [{**row, "meta": {**row["meta"], "id": row["meta"]["id"] + 100, "group_id": 50}} for row, _ in cases[:3]]
    root = data_folder(tmp_path, task, [row for row, _ in cases], shots)
    results = run_in_processes(size, task, root, right_once(answer_of(cases)), shots=2)
    alone = run(None, [task], answer_of(cases), data=root, num_fewshot=2)
    assert numbers(results, task) == pytest.approx(EXPECTED[task])

    def logged(report: Mapping[str, Any]) -> list[Any]:
        samples = ({**sample, "resps": sample["resps"][0][:1]} for sample in report["samples"][task])
        return sorted(samples, key=lambda sample: (sample["doc_id"], sample["filter"]))

    assert logged(results) == logged(alone)


def test_scores_do_not_depend_on_document_order(tmp_path: Path) -> None:
    for number, order in enumerate((REGIONS, REGIONS[::-1], REGIONS[4:] + REGIONS[:4], REGIONS[::2] + REGIONS[1::2])):
        root = data_folder(tmp_path / str(number), "russian_regions", [row for row, _ in order])
        results = run(None, ["russian_regions"], answer_of(REGIONS), data=root)
        assert numbers(results, "russian_regions") == pytest.approx(EXPECTED["russian_regions"])


PARTS = st.lists(st.tuples(st.integers(0, 5), st.lists(st.integers(0, 1), min_size=1, max_size=4)), max_size=5,
                 unique_by=lambda group: group[0])  # fmt: skip


@given(groups=PARTS, data=st.data())
def test_the_group_metric_is_the_share_of_whole_groups_in_any_order(
    groups: list[tuple[int, list[int]]], data: st.DataObject
) -> None:
    parts = [(identity, len(correct), one) for identity, correct in groups for one in correct]
    share = sum(all(correct) for _, correct in groups) / len(groups) if groups else float("nan")
    assert group_mean(data.draw(st.permutations(parts))) == pytest.approx(share, nan_ok=True)


@pytest.mark.parametrize(
    ("processes", "settings", "refused"),
    [
        (1, {}, False),
        (2, {}, False),
        (3, {}, True),
        (8, {}, True),
        (2, {"limit": 1}, True),
        (2, {"limit": 2}, False),
        (2, {"samples": {"riddles_closed": [1, 2]}}, True),
        (2, {"samples": {"riddles_closed": [0, 1]}}, False),
    ],
    ids=str,
)
def test_a_run_that_lm_eval_could_not_put_together_is_refused(
    tmp_path: Path, processes: int, settings: dict[str, Any], refused: bool
) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1), riddle(2), riddle(3, ""), riddle(4, "")])
    if not refused:
        assert run_in_processes(processes, "riddles_closed", root, **settings)["samples"]["riddles_closed"]
        return
    with pytest.raises(DataError) as caught:
        run_in_processes(processes, "riddles_closed", root, **settings)
    assert str(caught.value).startswith("riddles_closed: ") and f" {processes} processes " in str(caught.value)


@pytest.mark.parametrize("outputs", ["", "Снег"])
def test_closed_or_open_throughout_any_number_of_processes_will_do(tmp_path: Path, outputs: str) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, outputs), riddle(2, outputs)])
    assert len(run_in_processes(2, "riddles_closed", root)["samples"]["riddles_closed"]) == 4
