"""Full-size runs, created once, and copies that tests can damage."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.support.archives import answer
from tests.support.command import in_process
from tests.support.restate import restate
from tests.support.scripted import run
from tests.support.synthetic import write_data


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="session")
def scored(tmp_path_factory, data):
    output = tmp_path_factory.mktemp("scored")
    run(output, ["mera_ru"], answer, data=data)
    return output


@pytest.fixture(scope="session")
def closed_data(tmp_path_factory):
    """Write data without references, like those on the hub."""
    return write_data(tmp_path_factory.mktemp("closed"), answers=False)


@pytest.fixture(scope="session")
def closed(tmp_path_factory, closed_data):
    """Run the first command of the README: lm-eval computes scores, but the data have no references."""
    output = tmp_path_factory.mktemp("closed_run")
    run(output, ["enantiosemy", "riddles_closed", "russian_regions"], answer, data=closed_data)
    return output


@pytest.fixture(scope="session")
def predicted(tmp_path_factory, closed_data):
    output = tmp_path_factory.mktemp("predicted")
    run(output, ["mera_ru"], answer, data=closed_data, predict_only=True)
    return output


@pytest.fixture(scope="session")
def short(predicted, tmp_path_factory):
    """Copy the predict-only run without the lines of its second filter, which repeat the responses, to save time."""
    short = Path(shutil.copytree(predicted, tmp_path_factory.mktemp("short") / "results"))
    for file in short.rglob("samples_*"):
        lines = file.read_bytes().splitlines(keepends=True)
        file.write_bytes(b"".join(line for line in lines if b'"filter": "strict-match"' in line))
    restate(file.parent)
    return short


@pytest.fixture
def logs(short, tmp_path):
    """Copy the run, so that a test can damage the copy."""
    return Path(shutil.copytree(short, tmp_path / "results"))


@pytest.fixture(scope="session")
def good(short, tmp_path_factory):
    """Return the content of a valid archive."""
    file = tmp_path_factory.mktemp("good") / "good.zip"
    assert in_process("submit", short, "-o", file).returncode == 0
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}
