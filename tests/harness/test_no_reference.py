"""Documents without a reference get no score."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.known_scores import BASES, EXPECTED, REGIONS, answer_of, base_of, known_folder
from tests.support.rows import data_folder, enantiosemy, region, riddle
from tests.support.scripted import numbers, run


def our_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == "lm_eval.mera_ru_tasks"]


SUBMIT = (
    "To let the leaderboard score them, run with `--log_samples --output_path DIR` and submit the logs. "
    "To score locally, set MERA_RU_DATA to a folder of data with answers, or run the task `riddles_closed_shots`, "
    "which scores the public shots."
)

HIDDEN = "Riddles: 3 of 3 documents have no reference answer (the leaderboard does not publish them)"
ADD = "To get scores, add the missing answers to the data."


@pytest.mark.parametrize(
    ("task", "warning"),
    [
        ("riddles_closed", f"{HIDDEN}, so they get no score. {SUBMIT}"),
        ("riddles_closed_prefill", f"{HIDDEN}, so they get no score. {SUBMIT}"),
        ("riddles_closed_shots", f"Riddles: 3 of 3 documents have no reference answer, so they get no score. {ADD}"),
        ("riddles_open", f"Riddles (open set): 3 of 3 documents have no reference answer, so they get no score. {ADD}"),
    ],
)  # fmt: skip
def test_closed_answers_give_one_warning_and_no_number(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, task: str, warning: str
) -> None:
    rows = [riddle(1, ""), riddle(2, None), riddle(3, " ")]
    others = [riddle(4, "")]
    data_folder(tmp_path, base_of(task), *((others, rows) if task.endswith("_shots") else (rows, others)))
    results = run(None, [task], lambda doc, prompt: "кот", data=tmp_path)
    assert our_warnings(caplog) == [warning]
    assert numbers(results, task) == {}
    assert [sample["resps"] for sample in results["samples"][task]] == [[["кот"]]] * 6


def test_a_group_of_closed_tasks_has_no_number_either(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for base, make in zip(BASES, (enantiosemy, riddle, region), strict=True):
        data_folder(tmp_path, base, [make(1, "")])
    results = run(None, ["mera_ru"], lambda doc, prompt: "Ответ: А", data=tmp_path)
    assert [numbers(results, name) for name in ("mera_ru", *BASES)] == [{}] * 4
    assert sorted(text.split(":")[0] for text in our_warnings(caplog)) == ["Enantiosemy", "Riddles", "RussianRegions"]


def test_a_group_over_fewer_tasks_is_announced(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for base, row in zip(BASES, (enantiosemy(1, ""), riddle(1), region(1)), strict=True):
        data_folder(tmp_path, base, [row])
    results = run(None, ["mera_ru"], data=tmp_path)
    assert numbers(results, "mera_ru") == {"exact_match,strict-match": 1}
    assert "missing in 1/3 tasks. Missing in: enantiosemy" in caplog.text


def test_documents_with_a_reference_are_scored_beside_closed_ones(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [riddle(1, "Снег"), riddle(2, ""), riddle(3, "Огонь"), riddle(4, "")]
    results = run(
        None, ["riddles_closed"], lambda doc, prompt: "Ответ: снег", data=data_folder(tmp_path, "riddles", rows)
    )
    assert numbers(results, "riddles_closed") == {
        "exact_match,strict-match": 1 / 2, "exact_match_plain,strict-match": 1 / 2,
        "exact_match,flexible-extract": 1 / 2, "answered,flexible-extract": 1,
    }  # fmt: skip
    assert results["n-samples"]["riddles_closed"] == {"original": 4, "effective": 2}
    assert [text.split(" have")[0] for text in our_warnings(caplog)] == ["Riddles: 2 of 4 documents"]


def test_a_group_of_which_a_part_was_not_scored_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rows = [region(1, "А"), region(2, "", kind=2), region(3, "А", group=1), region(4, "Б; файл", group=1, kind=2)]
    root = data_folder(tmp_path, "russian_regions", rows)
    results = run(None, ["russian_regions"], data=root)
    assert numbers(results, "russian_regions")["group_exact_match,strict-match"] == 1
    assert [text.split(" was")[0] for text in our_warnings(caplog)[1:]] == ["1 of 2 groups"]


def test_a_limit_leaves_the_groups_out_that_it_cuts(tmp_path: Path) -> None:
    root = known_folder(tmp_path)
    scores = {
        limit: numbers(run(None, ["russian_regions"], answer_of(REGIONS), data=root, limit=limit), "russian_regions")
        for limit in (2, 5, 8, 9)
    }
    shares = {limit: score["group_exact_match,strict-match"] for limit, score in scores.items()}
    assert shares == pytest.approx({2: float("nan"), 5: 1, 8: 1 / 2, 9: 1 / 3}, nan_ok=True)


def test_group_fields_of_the_users_own_make_no_groups(tmp_path: Path) -> None:
    root = data_folder(tmp_path, "riddles", [riddle(1, group_id=1), riddle(2, group_size=9)])
    results = run(None, ["riddles_closed"], data=root)
    assert numbers(results, "riddles_closed").keys() == EXPECTED["riddles_closed"].keys()


def test_placeholders_that_no_input_fills_are_told_before_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [riddle(number) for number in range(5)]
    for row in rows[:3]:
        row["instruction"] += " {hint} из {А, Б}"
    rows[0]["inputs"]["hint"] = "Подсказка"
    rows[1]["inputs"]["hint"] = ""
    run(None, ["riddles_closed"], data=data_folder(tmp_path, "riddles", rows))
    assert our_warnings(caplog) == [
        "Riddles: in 2 of 5 prompts no input fills {hint}. The documents are run anyway. "
        "To list the rows, run `mera-ru data check`."
    ]
