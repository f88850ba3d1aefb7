"""Shared runs of three scripted models."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.browser import CHROMIUM, FLAGS
from tests.support.command import Command
from tests.support.comparisons import MIDDLE, SAMPLE_TASKS, STRONG, WEAK, skilled
from tests.support.scripted import run


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return lm-eval's output folder of three models that ran the sample tasks."""
    folder = tmp_path_factory.mktemp("compare") / "results"
    for model, skill in ((WEAK, 0.2), (MIDDLE, 0.5), (STRONG, 0.8)):
        run(folder, SAMPLE_TASKS, skilled(skill), model=model)
    return folder


@pytest.fixture
def mera_ru(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that calls `mera-ru`."""
    return Command(capsys, monkeypatch)


@pytest.fixture
def copied(results, tmp_path):
    return shutil.copytree(results, tmp_path / "results")


# The scope is not the session: while Playwright runs, its event loop runs in this thread, and no test can start
# another.
@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as running:
        started = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()
