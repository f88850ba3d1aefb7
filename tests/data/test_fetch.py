"""`mera-ru data fetch` saves the hub's data, which can then be used offline."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mera_ru_tasks.data.benchmarks import RUSSIAN_REGIONS, Benchmark
from mera_ru_tasks.data.lint import check_data
from mera_ru_tasks.data.load import Source, find_document
from tests.support.command import in_process
from tests.support.hub import COMMIT, hub
from tests.support.restate import rehash, restate
from tests.support.scripted import run
from tests.support.synthetic import make_rows, with_prompt_text, write_data


def hub_files(benchmark: Benchmark) -> dict[str, bytes]:
    """Return the benchmark as on the hub: Parquet, prompts as text, absent inputs as null, closed test answers."""
    absent = dict.fromkeys(("lang_unit", "example_text", "region"))
    files = {}
    for split, rows in zip(("test", "shots"), make_rows(benchmark), strict=True):
        full = [with_prompt_text(benchmark, row) for row in rows]
        full = [{**row, "inputs": {**absent, **row["inputs"]}} for row in full]
        if split == "test":
            full = [{**row, "outputs": ""} for row in full]
        stream = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(full), stream)
        files[f"data/{split}-00000-of-00001.parquet"] = stream.getvalue()
    return files


FETCHED = {"test.json", "shots.json", "dataset_meta.json"}


@pytest.mark.slow
def test_a_hub_dataset_is_fetched_and_a_cached_one_serves_offline(mera_ru, tmp_path):
    environment = {"HF_HOME": str(tmp_path / "home"), "HF_HUB_OFFLINE": "0", "MERA_RU_DATA": "", "HF_TOKEN": ""}
    with hub({RUSSIAN_REGIONS.hub: hub_files(RUSSIAN_REGIONS)}) as address:
        online = {**environment, "HF_ENDPOINT": address}
        fetched = in_process("data", "fetch", "russian_regions", "-o", tmp_path / "data", **online)
        unknown = in_process("data", "fetch", "russian_regions", "-o", tmp_path / "x", "--revision", "nope", **online)
    assert fetched.returncode == 0, fetched.stderr
    assert f"Saved revision {COMMIT} to " in fetched.stdout
    assert ": 603 rows in test, 9 rows in shots." in fetched.stdout
    again = mera_ru("data", "fetch", "russian_regions", "-o", tmp_path / "data")
    assert again.status == 1 and "already exists" in again.err
    assert unknown.returncode == 1 and "at revision nope could not be loaded" in unknown.stderr
    folder = tmp_path / "data" / "RussianRegions"
    meta = json.loads((folder / "dataset_meta.json").read_text())
    assert (meta["revision"], meta["source"]) == (COMMIT, "MERA-evaluation/RussianRegions")
    sums = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in sorted(FETCHED)}
    assert sorted((folder / "SHA256SUMS").read_text().splitlines()) == sorted(f"{sums[name]}  {name}" for name in sums)
    assert [child.name for child in (tmp_path / "data").iterdir()] == ["RussianRegions"]
    assert "null" not in (folder / "test.json").read_text()

    direct = write_data(tmp_path / "direct", answers=False, benchmarks=(RUSSIAN_REGIONS,))
    for identity in (1, 250, 603, 612):
        ours, theirs = (find_document("russian_regions", identity, data=data) for data in (folder.parent, direct))
        assert ours == theirs
    assert report_is_clean(folder)

    results = tmp_path / "results"
    run(results, ["russian_regions"], lambda doc, prompt: "x", data=folder.parent)
    offline = {**environment, "HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}
    packed = in_process("submit", results, "-o", tmp_path / "s.zip", "--partial", **offline)
    assert packed.returncode == 0, packed.stdout + packed.stderr
    assert "no data were found" not in packed.stdout
    (log,) = results.rglob("samples_*")
    changed = log.read_text(encoding="utf-8").replace('"id": 603,', '"id": 6030,')
    rows = [rehash(json.loads(line)) for line in changed.split("\n") if line]
    log.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    restate(log.parent)
    refused = in_process("submit", results, "-o", tmp_path / "t.zip", "--partial", **offline)
    assert refused.returncode == 1
    assert "MERA-evaluation/RussianRegions (cached), split test does not contain id 6030" in refused.stdout


def report_is_clean(folder: Path) -> bool:
    return not check_data(Source(RUSSIAN_REGIONS, folder)).issues
