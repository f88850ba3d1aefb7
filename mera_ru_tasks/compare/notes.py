"""What is to be known of a comparison beside its numbers, in the report's languages. The texts are in remarks.json."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Union

ENGLISH, RUSSIAN = "en", "ru"

Value = Union[str, "Remark", tuple["Remark", ...]]


@dataclass(frozen=True)
class Remark:
    """A text with its gaps filled.

    Attributes:
        key: the text's name.
        values: what fills its gaps, by name: a text that is the same in each language, or further remarks.
        private: whether it names a place on the user's machine, and is empty in what is made to be shared.
    """

    key: str
    values: tuple[tuple[str, Value], ...] = ()
    private: bool = False

    def __str__(self) -> str:
        return self.text()

    def text(self, language: str = ENGLISH, *, shared: bool = False) -> str:
        """The remark in words.

        Args:
            language: `en` or `ru`.
            shared: whether the text leaves the user's machine.
        """
        if self.private and shared:
            return ""
        values = dict(self.values)

        def fill(gap: re.Match[str]) -> str:
            value = values[gap[1]]
            if isinstance(value, str):
                return value
            return joined(value if isinstance(value, tuple) else (value,), language, shared=shared)

        # In one pass, so that a name with braces in it is not filled again.
        return re.sub(r"\{(\w+)\}", fill, _texts()[self.key][language])


def remark(key: str, *, private: bool = False, **values: object) -> Remark:
    """A remark; values that are no remarks are turned into text."""
    kept = ((name, value if isinstance(value, (Remark, tuple)) else str(value)) for name, value in values.items())
    return Remark(key, tuple(kept), private)


def setting(name: Value, ours: Value, theirs: Value) -> Remark:
    """A setting's two values, against each other."""
    return remark("setting", name=name, ours=ours, theirs=theirs)


def joined(remarks: Iterable[Remark], language: str = ENGLISH, *, shared: bool = False) -> str:
    """Remarks one after the other."""
    return "; ".join(one.text(language, shared=shared) for one in remarks)


def merged(remarks: Iterable[Remark]) -> list[Remark]:
    """Remarks once each; those that differ by their task alone become one."""
    tasks: dict[tuple[str, tuple[tuple[str, Value], ...]], list[Remark]] = {}
    for one in remarks:
        others = tuple(item for item in one.values if item[0] != "task")
        tasks.setdefault((one.key, others), []).append(one)
    return [_together(group) for group in tasks.values()]


def _together(group: Sequence[Remark]) -> Remark:
    names = dict.fromkeys(str(value) for one in group for name, value in one.values if name == "task")
    values = ((name, ", ".join(names) if name == "task" else value) for name, value in group[0].values)
    return Remark(group[0].key, tuple(values), group[0].private)


@cache
def _texts() -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
    return texts
