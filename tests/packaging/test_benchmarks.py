"""Each benchmark can be imported, and the benchmark of scale completes all steps at the smallest size."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

from benchmarks import Measurement, __main__, _processes, scale
from tests.support.synthetic import write_data


@pytest.mark.parametrize("name", __main__.NAMES)
def test_each_benchmark_offers_its_measurements(name: str) -> None:
    assert callable(importlib.import_module(f"benchmarks.{name}").measurements)


@pytest.mark.slow
def test_all_steps_of_the_smallest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [])
    write_data(tmp_path / "data", rows_per_type=1)
    done = []
    for part in scale.PARTS.values():
        for name, step in part(tmp_path):
            step()
            done.append(name)
    assert {"loading", "building requests", "strict-match", "flexible-extract", "compare two runs"} < set(done)
    assert (tmp_path / "submission.zip").is_file()
    figures = scale.run_part("tasks", tmp_path)
    assert set(figures) < set(done)
    assert all(seconds > 0 and mebibytes >= 0 for seconds, mebibytes in figures.values())


def test_a_process_is_measured_by_itself() -> None:
    hungry = bytearray(200 * 2**20)
    hungry[::4096] = b"x" * len(hungry[::4096])  # the system allocates memory only when it is written
    ended = _processes.measured([sys.executable, "-c", "print('said')"])
    assert ended.output.strip() == "said"
    assert 0 < ended.mebibytes < 150, "memory of the parent process is counted as well"
    with pytest.raises(RuntimeError, match=r"status 3.*why"):
        _processes.measured([sys.executable, "-c", "import sys; print('why'); sys.exit(3)"])


def test_a_benchmark_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr(sys, "argv", ["benchmarks", "nonsense"])
    with pytest.raises(SystemExit, match="2"):
        __main__.main()
    assert "unknown benchmark nonsense; there are compare, judge" in capsys.readouterr().err


def test_table_and_json_hold_every_figure(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    results = {
        "reading": [Measurement("strict-match", 54_321.4, "responses/s", "target", 50_000)],
        "scale": [Measurement("loading, memory, 100,000", 0.98765, "MiB"), Measurement("none", 1, "s", "zero", 0)],
    }
    __main__.show(results)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 100
    for text in ("READING", "54,321 responses/s", "target 50,000", "1.09", "SCALE", "0.988 MiB"):
        assert text in shown
    __main__.write(results, tmp_path / "results.json")
    written = json.loads((tmp_path / "results.json").read_text())["benchmarks"]
    assert written["reading"][0]["ratio"] == pytest.approx(54_321.4 / 50_000)
    assert written["scale"][0]["ratio"] is None
