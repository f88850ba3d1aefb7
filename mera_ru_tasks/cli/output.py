"""What commands share in what they print. Data and responses are hostile text: none of it may steer the terminal."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    """Escape control characters, bidirectional overrides and half characters; keep line ends and tabs."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], str(text))


def say(text: object) -> None:
    """Print to standard output."""
    print(printable(text))
