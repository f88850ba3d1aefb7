"""Data from the hub, and the messages if the hub cannot be reached."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pytest

from mera_ru_tasks.data.benchmarks import RIDDLES_CLOSED, RIDDLES_OPEN, RUSSIAN_REGIONS
from mera_ru_tasks.data.load import load
from mera_ru_tasks.harness import task
from mera_ru_tasks.issues import DataError
from tests.support.load import documents
from tests.support.rows import Row, riddle
from tests.support.synthetic import make_rows, with_prompt_text, write_data


def hub(monkeypatch: pytest.MonkeyPatch, **splits: list[Row]) -> list[dict[str, Any]]:
    """Replace the hub with one that contains these splits, and return the list of calls to it."""
    calls: list[dict[str, Any]] = []

    def load_dataset(path: str, **settings: Any) -> Any:
        calls.append({"path": path, **settings})
        return datasets.DatasetDict({name: datasets.Dataset.from_list(rows) for name, rows in splits.items()})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    return calls


def test_hub_rows_are_the_same_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    test, shots = make_rows(RUSSIAN_REGIONS, rows_per_type=2)
    rows = {"test": [with_prompt_text(RUSSIAN_REGIONS, {**row, "outputs": ""}) for row in test],
            "shots": [with_prompt_text(RUSSIAN_REGIONS, row) for row in shots]}  # fmt: skip
    local = write_data(tmp_path, answers=False, rows_per_type=2, benchmarks=(RUSSIAN_REGIONS,))
    calls = hub(monkeypatch, **rows)
    absent = [row["inputs"].get("region") for row in datasets.load_dataset("anything")["test"].to_list()]
    assert absent[0] is None, "a column contains None where a row lacks the field"
    assert documents(load(RUSSIAN_REGIONS)) == documents(load(RUSSIAN_REGIONS, data=local))
    assert calls[1:] == [{"path": "MERA-evaluation/RussianRegions", "revision": None}]


def test_hub_rows_without_outputs_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, test=[riddle(1, None), riddle(2, "")])
    loaded = load(RIDDLES_CLOSED)
    assert loaded["test"]["outputs"][:] == ["", ""]
    assert len(loaded["shots"]) == 0


def test_the_hubs_revision_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = hub(monkeypatch, test=[riddle(1)])
    monkeypatch.setenv("MERA_RU_REVISION", "v1")
    task.load(mera_ru_benchmark="riddles_closed")
    task.load(mera_ru_benchmark="riddles_closed", mera_ru_revision="v2")
    assert [call["revision"] for call in calls] == ["v1", "v2"]


def test_faults_of_hub_data_name_dataset_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, test=[riddle(1), riddle(1)])
    with pytest.raises(DataError) as caught:
        load(RIDDLES_CLOSED, revision="v1")
    assert str(caught.value).startswith("MERA-evaluation/Riddles@v1, split test, row 2 (id 1), field `meta.id`: ")
    assert "MERA-evaluation/Riddles@v1, split test, row 1." in str(caught.value)
    hub(monkeypatch, shots=[riddle(1)])
    with pytest.raises(DataError, match=r"^The dataset MERA-evaluation/Riddles has no split `test`"):
        load(RIDDLES_CLOSED)


def test_the_open_riddles_are_not_on_the_hub() -> None:
    with pytest.raises(DataError) as caught:
        load(RIDDLES_OPEN)
    assert "MERA_RU_DATA" in str(caught.value) and "riddles_open/test.json" in str(caught.value)


# The texts that a message about the hub must contain.
WAYS_OUT = ("HF_ENDPOINT", "HF_TOKEN", "MERA_RU_DATA", "`riddles_closed`", "--tasks mera_ru_sample")


def hub_errors() -> list[Exception]:
    """Return exceptions that `load_dataset` was seen to raise, by kind: network, access, replies, files."""
    from datasets.exceptions import DatasetGenerationError, DatasetNotFoundError
    from huggingface_hub.errors import HTTPError

    return [
        ConnectionError("Couldn't reach the Hub"), DatasetNotFoundError("is a gated dataset"),
        DatasetGenerationError("An error occurred while generating the dataset"), HTTPError("Server disconnected"),
        TimeoutError(), OSError(28, "No space left on device"), ValueError("Couldn't infer the format"),
        RuntimeError("Cannot send a request"), pa.ArrowInvalid("no Parquet file"),
    ]  # fmt: skip


@pytest.mark.parametrize("error", hub_errors(), ids=lambda error: type(error).__name__)
def test_whatever_fails_on_the_hub_names_the_ways_out(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def load_dataset(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    with pytest.raises(DataError) as caught:
        load(RIDDLES_CLOSED, revision="v1")
    text = str(caught.value)
    assert text.startswith(
        f"The dataset MERA-evaluation/Riddles at revision v1 could not be loaded from the hub ({type(error).__name__}: "
    )
    assert all(way in text for way in WAYS_OUT)


# In the second case, retries do not wait, because nothing will listen on the port.
OFFLINE = {
    "offline": ({"HF_HUB_OFFLINE": "1"}, ""),
    "unreachable": ({"HF_ENDPOINT": "http://127.0.0.1:9"}, "import time; time.sleep = lambda seconds: None; "),
}


@pytest.mark.parametrize("case", OFFLINE)
def test_without_network_and_local_data_a_program_ends_with_the_message(tmp_path: Path, case: str) -> None:
    settings, before = OFFLINE[case]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "MERA_RU_"))}
    program = (
        f"{before}from mera_ru_tasks.harness import patches, task; patches.prepare_lm_eval(); "
        "task.load(mera_ru_benchmark='riddles_closed')"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], env={**environment, **settings, "HF_HOME": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    last = ended.stderr.splitlines()[-1]
    assert last.startswith("Error: The dataset MERA-evaluation/Riddles could not be loaded from the hub (")
    assert all(way in last for way in WAYS_OUT)
    assert ("set HF_HUB_OFFLINE=1" in last) == (case == "unreachable")
    assert "Traceback" not in ended.stderr
