"""Outputs are complete or absent, whatever interrupts a command."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mera_ru_tasks.issues import OutputError
from mera_ru_tasks.paths import write_whole
from tests.support.command import Command
from tests.support.scripted import run


@pytest.fixture
def mera_ru(capsys, monkeypatch):
    return Command(capsys, monkeypatch)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs") / "results"
    run(folder, ["mera_ru_sample"], limit=4)
    return folder


def test_a_file_is_written_replaced_or_refused(tmp_path):
    file = tmp_path / "a.json"
    write_whole(file, b"1")
    with pytest.raises(OutputError):
        write_whole(file, b"2")
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"1", ["a.json"])
    write_whole(file, b"2", replace=True)
    assert (file.read_bytes(), [one.name for one in tmp_path.iterdir()]) == (b"2", ["a.json"])


def test_only_the_leftovers_of_dead_processes_are_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = socket.gethostname()
    stale = tmp_path / f"a.json.{host}.{ended.pid}.part"
    others = [f"a.json.{host}.{os.getppid()}.part", f"a.json.elsewhere.{ended.pid}.part", "a.json.notes.part"]
    for name in (stale.name, *others):
        (tmp_path / name).write_text("x", encoding="utf-8")
    write_whole(tmp_path / "a.json", b"1")
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["a.json", *others])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


COMMANDS = {
    "score": ("score", "{results}"),
    "csv": ("compare", "{results}", "-o", "{out}/a.csv"),
    "report": ("compare", "{results}", "-o", "{out}/a.html"),
    "plots": ("compare", "{results}", "--format", "json", "-o", "{out}/a.json", "--plots", "{out}/plots"),
}


def call(command: str, folder: Path) -> list[str]:
    places = {"{results}": str(folder / "results"), "{out}": str(folder / "out")}
    arguments = []
    for argument in COMMANDS[command]:
        for gap, place in places.items():
            argument = argument.replace(gap, place)
        arguments.append(argument)
    return arguments


@pytest.mark.parametrize(
    "command", [*sorted(COMMANDS.keys() - {"plots"}), pytest.param("plots", marks=pytest.mark.slow)]
)
def test_a_full_disk_leaves_no_half_file_and_a_rerun_completes(command, results, mera_ru, tmp_path, monkeypatch):
    """Let a flush to the disk fail, as on a full disk: each of the first ones, and some of the later ones.

    The later ones of the plots are alike, and drawing all plots again for each of them would take minutes.
    """
    shutil.copytree(results, tmp_path / "results")
    (tmp_path / "out").mkdir()
    flush = os.fsync
    failures = 0
    while True:
        before, calls = snapshot(tmp_path), []

        def full(descriptor, allowed=failures, calls=calls):
            calls.append(descriptor)
            if len(calls) > allowed:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            flush(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        outcome = mera_ru(*call(command, tmp_path))
        after = snapshot(tmp_path)
        assert not [name for name in after if name.endswith(".part")]
        assert all(after[name] == content for name, content in before.items())
        if outcome.status == 0:
            break
        assert "the disk is full" in outcome.err and "Traceback" not in outcome.err
        failures += max(1, failures // 2)
        for name in after.keys() - before.keys() if command != "score" else ():
            (tmp_path / name).unlink()  # complete files of the earlier attempt are not overwritten
    assert failures >= 1


KILLER = """
import os, sys
flush, allowed = os.fsync, int(sys.argv.pop(1))
def killed(descriptor):
    global allowed
    allowed -= 1
    if allowed < 0:
        os.kill(os.getpid(), 9)
    flush(descriptor)
os.fsync = killed
from mera_ru_tasks.cli import main
main()
"""


def test_a_killed_command_leaves_earlier_outputs_whole_and_a_rerun_completes(results, tmp_path):
    shutil.copytree(results, tmp_path / "results")
    (tmp_path / "out").mkdir()
    for allowed in (0, 3, 99):
        before = snapshot(tmp_path)
        ended = subprocess.run(
            [sys.executable, "-c", KILLER, str(allowed), *call("score", tmp_path)], capture_output=True, text=True
        )
        after = snapshot(tmp_path)
        assert all(after[name] == content for name, content in before.items() if not name.endswith(".part"))
        assert ended.returncode == (0 if allowed == 99 else -9), ended.stderr
        for name, content in after.items():
            if name.endswith(".json"):
                json.loads(content)
    assert not [name for name in after if name.endswith(".part")]
    assert sum("scored_" in name for name in after) == 4
