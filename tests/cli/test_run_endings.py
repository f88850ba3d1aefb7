"""The end of `mera-ru run`: after Ctrl-C, and if lm-eval could not write its results."""

from __future__ import annotations

import logging

import pytest

from mera_ru_tasks.harness import patches


@pytest.fixture
def lm_eval(monkeypatch):
    """Replace lm-eval's command line with a function, and record how runs are checked."""
    checks = []
    monkeypatch.setattr(patches, "leave_out_other_tasks", lambda: None)
    monkeypatch.setattr(patches, "install_run_check", lambda **options: checks.append(options))

    def end_with(action):
        monkeypatch.setattr(patches, "run_lm_eval", action)
        return checks

    return end_with


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--tasks", "riddles_sample"], ["--use_cache", "lost"]),
        (["--use_cache", "kept"], ["kept_rank0.db"]),
        (["--use_cache=kept"], ["kept_rank0.db"]),
    ],
)
def test_ctrl_c_says_what_is_kept(mera_ru, lm_eval, arguments, words):
    def interrupt(given):
        assert given == ["run", *arguments]
        raise KeyboardInterrupt

    lm_eval(interrupt)
    outcome = mera_ru("run", *arguments)
    assert outcome.status == 130 and all(word in outcome.err for word in words)


def test_lost_results_are_an_error(mera_ru, lm_eval):
    logger = logging.getLogger("lm_eval.loggers.evaluation_tracker")
    lm_eval(lambda given: logger.warning("Could not save results aggregated"))
    outcome = mera_ru("run", "--tasks", "riddles_sample")
    assert outcome.status == 1 and "Could not save results aggregated" in outcome.err


def test_samples_are_kept_unless_told_not_to(mera_ru, lm_eval):
    given = []
    checks = lm_eval(given.append)
    mera_ru("run", "--tasks", "riddles_sample", "-o", "out")
    mera_ru("run", "--tasks", "riddles_sample", "--no-log-samples", "-o", "out")
    assert checks == [{"keep_samples": True}, {"keep_samples": False}]
    assert given == [["run", "--tasks", "riddles_sample", "-o", "out"]] * 2
