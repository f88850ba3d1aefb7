"""Inputs that could exhaust memory or time, each with a command line that reads it. As a program, print figures."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

DATE = "2026-01-02T03-04-05.000006"
MIB = 1 << 20
# Python with lm-eval's libraries maps about 1 GiB.
ADDRESS_SPACE = 3 << 30
SECONDS = 60

Arguments = list[object]


@dataclass(frozen=True)
class Result:
    """The result of a command: its status and output, and the memory and time that it used."""

    status: int
    output: str
    mebibytes: float
    seconds: float
    processor_seconds: float


def call(arguments: Arguments) -> Result:
    """Call `mera-ru` with a limited address space, and kill the command if it does not end."""
    start = "import sys; from mera_ru_tasks.cli import main; sys.argv[0] = 'mera-ru'; main()"
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", start, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        env={**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "200", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    with tempfile.TemporaryFile() as kept:
        assert process.stdout is not None
        deadline = began + SECONDS
        os.set_blocking(process.stdout.fileno(), False)
        while time.monotonic() < deadline and (part := process.stdout.read()) != b"":
            kept.write(part or b"")
            time.sleep(0.01)
        if time.monotonic() >= deadline:
            process.kill()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        kept.seek(0)
        output = kept.read().decode("utf-8", "replace")
    process.stdout.close()
    spent = usage.ru_utime + usage.ru_stime
    return Result(process.returncode, output, usage.ru_maxrss / 1024, time.monotonic() - began, spent)


def zipped(file: Path, entries: Iterator[tuple[str, bytes]], *, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", packing) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return file


def zip_bytes(entries: Iterator[tuple[str, bytes]]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return stream.getvalue()


def check(file: Path) -> Arguments:
    return ["submit", "--check", file]


def nested_zip(folder: Path) -> Arguments:
    inner = zip_bytes(iter([("samples_riddles_" + DATE + ".jsonl", b"\0" * (200 * MIB))]))
    return check(zipped(folder / "a.zip", iter([("logs_public.zip", inner), ("Riddles.json", b" " * (200 * MIB))])))


def many_bombs(folder: Path) -> Arguments:
    return check(zipped(folder / "a.zip", ((f"{number}.json", b" " * (20 * MIB)) for number in range(60))))


def many_entries(folder: Path) -> Arguments:
    return check(zipped(folder / "a.zip", ((f"{number:05}" + "x" * 200, b"") for number in range(60_000))))


def many_rows(folder: Path) -> Arguments:
    row = b'{"outputs":"","meta":{"id":1}},'
    content = b'{"data":{"test":[' + row * 1_500_000 + row[:-1] + b"]}}"
    return check(zipped(folder / "a.zip", iter([("Riddles.json", content)]), packing=zipfile.ZIP_STORED))


def bad_rows(folder: Path) -> Arguments:
    rows = [{"outputs": {"x": "y" * 300}, "meta": {"id": str(number)}} for number in range(50_000)]
    return check(zipped(folder / "a.zip", iter([("Riddles.json", json.dumps({"data": {"test": rows}}).encode())])))


def archive_is_a_device(folder: Path) -> Arguments:
    (folder / "a.zip").symlink_to("/dev/zero")
    return check(folder / "a.zip")


def archive_is_a_pipe(folder: Path) -> Arguments:
    os.mkfifo(folder / "a.zip")
    return check(folder / "a.zip")


def data_folder(folder: Path) -> Path:
    inside = folder / "riddles"
    inside.mkdir()
    return inside


def shard_numbers(folder: Path) -> Arguments:
    (data_folder(folder) / "test-00000-of-99999999999.parquet").write_bytes(b"x")
    return ["data", "check", folder]


def data_rows(folder: Path) -> Arguments:
    row = b'{"instruction":"","inputs":{},"outputs":"","meta":{"id":1}}\n'
    (data_folder(folder) / "test.jsonl").write_bytes(row * 3_000_000)
    return ["data", "check", folder]


def data_values(folder: Path) -> Arguments:
    (data_folder(folder) / "test.json").write_bytes(b'{"data":[' + b"{}," * 15_000_000 + b"{}]}")
    return ["data", "check", folder]


def data_messages(folder: Path) -> Arguments:
    rows = [{"instruction": 1.5, "inputs": "x" * 300, "outputs": ["y" * 300], "meta": {}} for _ in range(30_000)]
    (data_folder(folder) / "test.json").write_text(json.dumps({"data": rows}))
    return ["data", "check", folder]


def data_keys(folder: Path) -> Arguments:
    content = {"data": [], **{f"{number}" + "k" * 1000: 1 for number in range(20_000)}}
    (data_folder(folder) / "test.json").write_text(json.dumps(content))
    return ["data", "check", folder]


def data_parquet(folder: Path) -> Arguments:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"outputs": pa.array(["x" * 100]).take(pa.array([0] * 4_000_000, pa.int32()))})
    pq.write_table(table, data_folder(folder) / "test.parquet")
    return ["data", "check", folder]


def data_pipe(folder: Path) -> Arguments:
    os.mkfifo(data_folder(folder) / "test-00000-of-00001.parquet")
    return ["data", "check", folder]


def alias_bomb(folder: Path) -> Arguments:
    lines = ["a0: &a0 [x, x]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    text = "\n".join([*lines, "task: bomb", "class: !function mera_ru_tasks.CustomTask", "dataset_kwargs:"])
    (folder / "bomb.yaml").write_text(f"{text}\n  mera_ru_path: x\n  mera_ru_answer: *a11\n")
    return ["data", "check", folder / "bomb.yaml"]


def results(folder: Path, content: bytes | None = None) -> Path:
    (folder / f"samples_riddles_sample_{DATE}.jsonl").write_bytes(b"{}\n")
    if content is not None:
        (folder / f"results_{DATE}.json").write_bytes(content)
    return folder


def results_pipe(folder: Path) -> Arguments:
    os.mkfifo(results(folder) / f"results_{DATE}.json")
    return ["compare", folder]


def results_pipe_renamed(folder: Path) -> Arguments:
    os.mkfifo(results(folder) / f"mine_{DATE}.json")
    return ["compare", folder]


def results_device(folder: Path) -> Arguments:
    (results(folder) / f"results_{DATE}.json").symlink_to("/dev/zero")
    return ["score", folder]


def results_name(folder: Path) -> Arguments:
    return ["compare", results(folder, json.dumps({"model_name": "x" * (8 * MIB)}).encode())]


def results_large(folder: Path) -> Arguments:
    return ["score", results(folder, b"[" * (100 * MIB))]


def log_pipe(folder: Path) -> Arguments:
    os.mkfifo(folder / f"samples_riddles_sample_{DATE}.jsonl")
    return ["score", folder / f"samples_riddles_sample_{DATE}.jsonl"]


def log_line(folder: Path) -> Arguments:
    file = results(folder) / f"samples_riddles_sample_{DATE}.jsonl"
    with file.open("wb") as stream:
        stream.truncate(4 << 30)  # one line of 4 GiB that takes no space on the disk
    return ["score", folder]


def deep_json(folder: Path) -> Arguments:
    return check(zipped(folder / "a.zip", iter([("Riddles.json", b"[" * 5_000_000)])))


INPUTS: dict[str, Callable[[Path], Arguments]] = {
    function.__name__: function
    for function in (
        nested_zip, many_bombs, many_entries, many_rows, bad_rows, archive_is_a_device, archive_is_a_pipe,
        shard_numbers, data_rows, data_values, data_messages, data_keys, data_parquet, data_pipe, alias_bomb,
        results_pipe, results_pipe_renamed, results_device, results_name, results_large, log_pipe, log_line, deep_json,
    )
}  # fmt: skip


if __name__ == "__main__":
    print(f"{'input':24}{'status':>7}{'MiB':>7}{'s':>7}{'CPU s':>7}{'characters':>12}")
    for name, make in INPUTS.items():
        with tempfile.TemporaryDirectory() as folder:
            # In a separate process, because a child's peak memory includes that of its parent.
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                arguments = pool.submit(make, Path(folder)).result()
            found = call(arguments)
        print(
            f"{name:24}{found.status:7}{found.mebibytes:7.0f}{found.seconds:7.1f}{found.processor_seconds:7.1f}"
            f"{len(found.output):12}",
            flush=True,
        )
