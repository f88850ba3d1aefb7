"""Inputs that could exhaust memory or time end with a message. `python -m tests.support.hostile` prints figures."""

from __future__ import annotations

import pytest

from tests.support.hostile import INPUTS, call

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", INPUTS)
def test_a_hostile_input_ends_with_a_message(name, tmp_path):
    result = call(INPUTS[name](tmp_path))
    assert result.status == 1, result
    assert "Traceback" not in result.output and 0 < len(result.output) < 100_000
