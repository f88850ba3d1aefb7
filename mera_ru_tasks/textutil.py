"""Format text for terminals, messages and files. Data and responses are hostile and must not control a terminal."""

from __future__ import annotations

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

# A lone surrogate: half a character, which JSON and Python strings can hold but files and requests cannot.
LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_WIDE = 160


def strict_json(value: Any, **options: Any) -> str:
    """Return JSON that every program can read: NaN and infinities become null.

    Args:
        value: any value that `json.dumps` accepts.
        options: further arguments of `json.dumps`.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_without_nan(value), ensure_ascii=False, allow_nan=False, **options)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _without_nan(part) for name, part in value.items()}
    return [_without_nan(part) for part in value] if isinstance(value, (list, tuple)) else value


def encodable(text: str) -> str:
    """Replace each lone surrogate by U+FFFD, so that the text can be written to a file."""
    return LONE_SURROGATE.sub("\ufffd", text)


def printable(text: object) -> str:
    """Escape control characters, bidirectional overrides and lone surrogates; keep line ends and tabs."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], str(text))


def in_json(text: str) -> str:
    """Escape the same characters in a JSON text as JSON does; they can only occur inside its strings."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a sentence with the known names closest to an unknown one, or with all names if none is close."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"Available: {', '.join(names)}."


def say(text: object) -> None:
    """Print a text safely to standard output."""
    print(printable(text))


def cell(text: object) -> Text:
    """Return a table cell that shows the text literally, without interpreting markup."""
    from rich.text import Text

    return Text(printable(text))


def console() -> Console:
    """Return the console for tables, wide enough for them if standard output is not a terminal."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=_WIDE)
