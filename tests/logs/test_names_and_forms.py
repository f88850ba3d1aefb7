"""Renamed logs, logs with a byte order mark, and strict JSON in written files."""

from __future__ import annotations

import json
import re

import pytest

from mera_ru_tasks.issues import RunError
from mera_ru_tasks.logs.find import find_logs, newest
from mera_ru_tasks.logs.sidecar import _short
from mera_ru_tasks.textutil import strict_json
from tests.support.rows import data_folder, riddle
from tests.support.scripted import run

DATE = "2026-01-02T03-04-05.678901"
SAMPLES = f"samples_riddles_closed_{DATE}.jsonl"


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (f"samples_riddles_closed_{DATE} (1).jsonl", "renamed lm-eval log"),
        (f"{SAMPLES} (1)", "renamed lm-eval log"),
        (f"{SAMPLES}.txt", "renamed lm-eval log"),
        (f"samples_riddles_closed_{DATE} copy.jsonl", "renamed lm-eval log"),
        (f"{SAMPLES}.gz", "compressed"),
        (f"{SAMPLES}.zip", "compressed"),
    ],
)
def test_a_log_under_a_changed_name_is_named_as_what_it_is(tmp_path, name, word):
    (tmp_path / "model").mkdir()
    file = tmp_path / "model" / name
    file.write_text("")
    (tmp_path / "model" / f"results_{DATE}.json").write_text("{}")
    for path in (tmp_path, tmp_path / "model", file, tmp_path / "model" / f"results_{DATE}.json"):
        with pytest.raises(RunError) as error:
            find_logs([path])
        assert word in str(error.value) and name in str(error.value)
        assert "--log_samples" not in str(error.value)


def test_a_run_without_samples_is_told_from_a_folder_without_a_run(tmp_path):
    with pytest.raises(RunError) as error:
        find_logs([tmp_path])
    assert "ran without" not in str(error.value)
    (tmp_path / f"results_{DATE}.json").write_text("{}")
    with pytest.raises(RunError, match="ran without --log_samples"):
        find_logs([tmp_path])


def test_colons_in_the_time_of_old_releases_are_read(tmp_path):
    for date in ("2024-05-01T10:00:00.5", "2024-05-01T10-30-00.5"):
        (tmp_path / f"samples_riddles_closed_{date}.jsonl").write_text("")
        (tmp_path / f"results_{date}.json").write_text('{"model_name": "m"}')
    logs = find_logs([tmp_path])
    assert len(logs) == 2 and all(log.run.model == "m" for log in logs)
    [log] = newest(logs)
    assert log.run.date == "2024-05-01T10-30-00.5"


def test_a_byte_order_mark_does_not_matter(tmp_path, mera_ru):
    root = data_folder(tmp_path / "data", "riddles", [riddle(1), riddle(2)])
    run(tmp_path / "logs", ["riddles_closed"], data=root)
    for file in (tmp_path / "logs").rglob("*.json*"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    outcome = mera_ru("score", tmp_path / "logs")
    assert outcome.status == 0, outcome.err
    [scored] = (tmp_path / "logs").rglob("scored_riddles*.jsonl")
    assert [json.loads(line)["scores"]["exact_match"] for line in scored.read_text().splitlines()] == [1, 1] * 2


def test_json_without_nan():
    value = {"a": [1.5, float("nan")], "b": (float("inf"), "NaN"), "c": {"d": None}}
    assert json.loads(strict_json(value)) == {"a": [1.5, None], "b": [None, "NaN"], "c": {"d": None}}


def test_long_names_are_cut_and_stay_apart():
    one, other = _short("х" * 300), _short("х" * 299 + "у")
    assert one != other and one.encode() and len(one.encode()) <= 60 and re.fullmatch(r"х+-[0-9a-f]{8}", one)
    assert _short("gpt-4o-mini") == "gpt-4o-mini"
