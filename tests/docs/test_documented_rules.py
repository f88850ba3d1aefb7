"""The tables of the rules for rows and of the leaderboard's tasks agree with the code."""

from __future__ import annotations

import re

import pytest

from mera_ru_tasks.data.schema import RULES
from mera_ru_tasks.submission.rules import SIZES
from tests.support.documents import page, text_of


@pytest.mark.parametrize("russian", [False, True], ids=["en", "ru"])
def test_the_table_of_rules_is_the_codes_own(russian: bool) -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (\w+) \| (.+) \|$", text_of(page("data", russian=russian)), re.MULTILINE)
    effects = (
        {"error": "останавливает", "warning": "предупреждает"} if russian else {"error": "stops", "warning": "warns"}
    )
    assert [(code, effect) for code, effect, _ in rows] == [
        (code, effects[rule.severity]) for code, rule in RULES.items()
    ]
    assert russian or [reason for *_, reason in rows] == [rule.reason for rule in RULES.values()]


@pytest.mark.parametrize("russian", [False, True], ids=["en", "ru"])
def test_the_table_of_the_twelve_tasks_is_the_codes_own(russian: bool) -> None:
    rows = re.findall(r"^\| `([\w-]+)\.json` \| (\d+) \|", text_of(page("submit", russian=russian)), re.MULTILINE)
    assert {title: int(size) for title, size in rows} == SIZES
