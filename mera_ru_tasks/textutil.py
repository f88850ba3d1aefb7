"""Text for people's eyes. Data and responses are hostile text: none of it may steer the terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """Escape control characters, bidirectional overrides and half characters; keep line ends and tabs."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], str(text))


def in_json(text: str) -> str:
    """A JSON text in which such characters are spelled as JSON does; they stand in its strings alone."""
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def encodable(text: str) -> str:
    """The text with halves of characters, which no file can hold, replaced."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def say(text: object) -> None:
    """Print to standard output."""
    print(printable(text))


def cell(text: object) -> Text:
    """A table's cell with this text, whatever markup it looks like."""
    from rich.text import Text

    return Text(printable(text))


def console() -> Console:
    """Where tables are printed; wide enough for them where standard output is no terminal."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=_WIDE)


_WIDE = 160
