"""A full disk, or `kill -9` at any write, damages no earlier output and leaves no partial file. A rerun completes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.custom_task import row, task_folder
from tests.support.interrupted import Forks
from tests.support.judge_stub import StubJudge
from tests.support.rows import data_folder
from tests.support.scripted import run

pytestmark = pytest.mark.slow

COMMANDS = {
    "score": ["score", "{at}/results"],
    "judge": ["judge", "{at}/results"],
    "csv": ["compare", "{at}/results", "-o", "{at}/out/a.csv"],
    "markdown": ["compare", "{at}/results", "-o", "{at}/out/a.md"],
    "report": ["compare", "{at}/results", "-o", "{at}/out/a.html"],
    "replaced report": ["compare", "{at}/results", "-o", "{at}/out/old.html", "--force"],
    "plots": ["compare", "{at}/results", "--plots", "{at}/out/plots"],
    "submit": ["submit", "{at}/results", "--task", "own", "--partial", "-o", "{at}/out/a.zip"],
}
# These files may differ between two calls: image bytes are not promised, and the cache has its own test.
UNEQUAL = (".png", ".svg", ".sqlite", ".sqlite-wal", ".sqlite-shm", ".lock")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Run two models on a shipped task and on a custom task."""
    root = tmp_path_factory.mktemp("interrupted")
    data = data_folder(root, "own", [row(number, "А") for number in range(1, 5)], [])
    tasks = task_folder(root, mera_ru_path=str(data / "own"), mera_ru_answer={"choices": "АБ"})
    for model, letter in (("org/a", "А"), ("org/b", "Б")):
        names = ["own", "riddles_sample"] if model == "org/a" else ["riddles_sample"]
        run(
            root / "results",
            names,
            lambda doc, prompt, x=letter: f"Ответ: {x}",
            model=model,
            task_folders=[tasks],
            limit=4,
        )
    return root / "results"


@pytest.fixture(scope="module")
def forks(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache") / "judge.sqlite"
    with StubJudge() as stub:
        names = {"API_BASE": stub.url, "MODEL": "stub", "CACHE": str(cache)}
        with Forks({f"LM_EVAL_JUDGE_{name}": value for name, value in names.items()}) as process:
            yield process


def prepare(results: Path, folder: Path) -> None:
    shutil.copytree(results, folder / "results")
    (folder / "out").mkdir()
    (folder / "out" / "old.html").write_text("earlier", encoding="utf-8")
    (folder / "out" / "note.txt").write_text("mine", encoding="utf-8")


def arguments(command: str, folder: Path) -> list[str]:
    return [part.replace("{at}", str(folder)) for part in COMMANDS[command]]


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def require_whole(after: dict[str, bytes], before: dict[str, bytes], wanted: dict[str, bytes]) -> None:
    """Check that each file is unchanged or equals the output of an undisturbed command."""
    for name, content in before.items():
        assert after[name] in (content, wanted[name]), name
    for name in after.keys() - before.keys():
        assert name in wanted or name.endswith(".part"), name
        if name.endswith(UNEQUAL):
            ends = {".png": b"IEND\xaeB`\x82", ".svg": b"</svg>\n"}
            assert after[name].endswith(ends.get(Path(name).suffix, b"")), name
        elif not name.endswith(".part"):
            assert after[name] == wanted[name], name


def finish(forks: Forks, command: str, folder: Path, before: dict[str, bytes], wanted: dict[str, bytes]) -> None:
    """Run a command again and check that it completes. It may not replace new files of the earlier call."""
    for name in files(folder).keys() - before.keys():
        if name.startswith("out/") and not name.endswith(".part"):
            (folder / name).unlink()
    status, _, output = forks.call(arguments(command, folder), watched=folder)
    assert status == 0, output
    after = files(folder)
    assert after.keys() == wanted.keys()
    require_whole(after, before, wanted)


def undisturbed(forks: Forks, command: str, results: Path, folder: Path) -> tuple[dict[str, bytes], int]:
    prepare(results, folder)
    status, changes, output = forks.call(arguments(command, folder), watched=folder)
    assert status == 0, output
    return files(folder), changes


def kill_everywhere(forks: Forks, command: str, results: Path, tmp_path: Path, most: int | None) -> int:
    """Kill a command at up to `most` of its writes, and return the number of its writes."""
    wanted, changes = undisturbed(forks, command, results, tmp_path / "a")
    assert changes >= 4
    points = (
        range(changes) if most is None or changes <= most else [i * (changes - 1) // (most - 1) for i in range(most)]
    )
    for number in points:
        folder = tmp_path / "b"
        prepare(results, folder)
        before = files(folder)
        status, _, output = forks.call(arguments(command, folder), watched=folder, allowed=number)
        assert status == -9, output
        require_whole(files(folder), before, wanted)
        finish(forks, command, folder, before, wanted)
        shutil.rmtree(folder)
    print(f"{command}: killed at {len(points)} of {changes} writes")
    return len(points)


@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_some_writes(command, forks, results, tmp_path):
    assert kill_everywhere(forks, command, results, tmp_path, 5) >= 4


@pytest.mark.nightly
@pytest.mark.parametrize("command", COMMANDS)
def test_killed_at_every_write(command, forks, results, tmp_path):
    assert kill_everywhere(forks, command, results, tmp_path, None) >= 4


@pytest.fixture
def small_disk(tmp_path):
    """Mount a file system of 16 MiB, if the user may mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk(command, forks, results, small_disk, tmp_path):
    """Run the command with more and more free pages on the disk, until it completes."""
    # All calls use the same paths, because messages and reports may contain them.
    wanted, _ = undisturbed(forks, command, results, small_disk / "a")
    shutil.rmtree(small_disk / "a")
    failures, pages = 0, 0
    while True:
        folder = small_disk / "a"
        prepare(results, folder)
        before = files(folder)
        fill(small_disk / "ballast", pages)
        status, _, output = forks.call(arguments(command, folder), watched=folder)
        (small_disk / "ballast").unlink()
        after = files(folder)
        require_whole(after, before, wanted)
        assert not [name for name in after if name.endswith(".part")]
        if status == 0:
            break
        failures += 1
        assert "disk" in output and "full" in output and "Traceback" not in output, output
        finish(forks, command, folder, before, wanted)
        shutil.rmtree(folder)
        pages = pages * 2 or 1
    print(f"{command}: {failures} full disks")
    assert failures >= 1


def fill(file: Path, free_pages: int) -> None:
    """Fill a disk with a file, except for a number of pages."""
    disk = os.statvfs(file.parent)
    with file.open("wb") as ballast:
        os.posix_fallocate(ballast.fileno(), 0, (disk.f_bavail - free_pages) * disk.f_frsize)
