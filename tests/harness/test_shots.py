"""The shots in the prompts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mera_ru_tasks.harness.task import ShotsSampler
from mera_ru_tasks.issues import DataError
from tests.support.prompts import prompts
from tests.support.rows import Row, data_folder, riddle


def shown_riddles(text: str) -> list[str]:
    """Return the riddles in a prompt. The last one is the riddle to solve."""
    return [line.split()[1].rstrip("?") for line in text.split("\n") if line.startswith("Загадка")]


def many_riddles(root: Path, shots: Sequence[Row], test: Sequence[Row] = ()) -> Path:
    return data_folder(root, "riddles", test or [riddle(identity) for identity in range(1, 9)], shots)


def test_every_document_gets_the_same_shots_whatever_the_limit_and_the_order(tmp_path: Path) -> None:
    test = [riddle(identity) for identity in range(1, 9)]
    shots = [riddle(identity) for identity in range(101, 111)]
    forward = many_riddles(tmp_path / "forward", shots, test)
    backward = many_riddles(tmp_path / "backward", shots, test[::-1])
    by_document = [
        {ids[-1]: ids[:-1] for ids in map(shown_riddles, prompts(root, "riddles_closed", num_fewshot=3, **arguments))}
        for root, arguments in ((forward, {}), (backward, {}), (forward, {"limit": 3}), (forward, {"samples": SOME}))
    ]
    assert all(shown == by_document[0]["1"] for run_ in by_document for shown in run_.values())
    assert [len(run_) for run_ in by_document] == [8, 8, 3, 2]


SOME = {"riddles_closed": [2, 5]}


def test_the_fewshot_seed_chooses_other_shots(tmp_path: Path) -> None:
    root = many_riddles(tmp_path, [riddle(identity) for identity in range(101, 121)], [riddle(1)])
    drawn = {
        tuple(shown_riddles(prompts(root, "riddles_closed", num_fewshot=4, fewshot_random_seed=seed)[0]))
        for seed in (1, 1, 2, 3)
    }
    assert len(drawn) == 3


def test_a_seed_set_anew_counts() -> None:
    sampler = ShotsSampler([riddle(identity) for identity in range(20)])
    drawn = [[shot["meta"]["id"] for shot in sampler.set_rnd(seed).sample(5)] for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]


@pytest.mark.parametrize("shots", [1, 4])
def test_a_scored_shot_is_never_among_its_own_shots(tmp_path: Path, shots: int) -> None:
    root = many_riddles(
        tmp_path, [riddle(identity, note=None if identity % 2 else "x") for identity in range(101, 106)]
    )
    shown = [shown_riddles(text) for text in prompts(root, "riddles_closed_shots", num_fewshot=shots)]
    assert [ids[-1] for ids in shown] == ["101", "102", "103", "104", "105"]
    assert all(len(set(ids)) == shots + 1 for ids in shown)


def test_shots_without_an_answer_are_not_shown(tmp_path: Path) -> None:
    shots = [riddle(101), riddle(102, ""), riddle(103, None), riddle(104)]
    [text] = prompts(many_riddles(tmp_path, shots, [riddle(1)]), "riddles_closed", num_fewshot=2)
    assert sorted(shown_riddles(text)) == ["1", "101", "104"]


def test_a_shot_shows_the_first_answer_that_has_a_word(tmp_path: Path) -> None:
    root = many_riddles(tmp_path, [riddle(101, "… ; снег; иней")], [riddle(1)])
    [text] = prompts(root, "riddles_closed", num_fewshot=1)
    assert "\nОтвет: снег\n" in text


@pytest.mark.parametrize(
    ("task", "shots", "asked", "available"),
    [
        ("riddles_closed", [], 1, 0),
        ("riddles_closed", None, 1, 0),
        ("riddles_closed", [riddle(101), riddle(102)], 3, 2),
        ("riddles_closed", [riddle(101), riddle(102, "")], 2, 1),
        ("riddles_closed_shots", [riddle(101), riddle(102)], 2, 1),
    ],
)
def test_too_many_shots_are_a_clear_error(
    tmp_path: Path, task: str, shots: list[Row] | None, asked: int, available: int
) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1)], shots)
    with pytest.raises(DataError) as caught:
        prompts(root, task, num_fewshot=asked)
    assert str(caught.value) == (
        f"--num_fewshot {asked} asks for more shots than the data have ({available}). "
        "Use a smaller number, or add rows with answers to the split `shots` of the data."
    )


def test_all_shots_can_be_shown(tmp_path: Path) -> None:
    root = many_riddles(tmp_path, [riddle(101), riddle(102)], [riddle(1)])
    assert sorted(shown_riddles(prompts(root, "riddles_closed", num_fewshot=2)[0])) == ["1", "101", "102"]
