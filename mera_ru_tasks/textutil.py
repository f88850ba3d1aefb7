"""Format text for terminals, messages and files.

Data and responses are untrusted, so control characters in them are escaped before they reach a terminal.
"""

from __future__ import annotations

import difflib
import functools
import json
import logging
import math
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.secrets import hidden, without_tokens

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

logger = logging.getLogger("lm_eval.mera_ru_tasks")

# Matches a lone surrogate, which is half of a character. JSON and Python strings can contain one, but UTF-8 cannot.
LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_WIDE = 160


def strict_json(value: Any, **options: Any) -> str:
    """Return a value as standard JSON, with null for NaN and infinities.

    Args:
        value: any value that `json.dumps` accepts.
        options: other arguments of `json.dumps`.
    """
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_without_nan(value), ensure_ascii=False, allow_nan=False, **options)


def read_json(content: bytes | str) -> Any:
    """Parse untrusted JSON in UTF-8.

    A key may occur only once in an object, because programs disagree about which of two values to use.

    Raises:
        ValueError: the text has too many values, is nested too deeply or repeats a key. If it is not JSON, the error is
            a JSONDecodeError with the line and column.
    """
    text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
    if len(text) > _SMALL and text.count(",") + 4 * (text.count("{") + text.count("[")) > _MAX_VALUES:
        raise ValueError(f"it has more than {_MAX_VALUES:,} values")
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


# Each value takes about 100 bytes of memory, so small texts need no count.
_SMALL = 1 << 20
_MAX_VALUES = 3_000_000


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in fields if names.count(name) > 1)
        raise ValueError(f"the key {quoted(twice)} occurs twice in an object")
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: _without_nan(part) for name, part in value.items()}
    return [_without_nan(part) for part in value] if isinstance(value, (list, tuple)) else value


def encodable(text: str) -> str:
    """Replace each lone surrogate with U+FFFD, so that the text can be encoded as UTF-8."""
    return LONE_SURROGATE.sub("\ufffd", text)


def printable(text: object) -> str:
    """Hide tokens, and escape control characters except line feeds and tabs, overrides and lone surrogates."""
    return _CONTROLS.sub(lambda match: ascii(match[0])[1:-1], without_tokens(str(text)))


def in_json(text: str) -> str:
    """Escape the characters that `printable` escapes, in JSON's own form, so that the text stays valid JSON.

    In JSON these characters can only occur inside strings.
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def quoted(value: object, most: int = 60) -> str:
    """Return the `repr` of a value for a message, without secrets, and shortened if it is long."""
    text = value[: 4 * most] if isinstance(value, str) else value
    shown = hidden(repr(text))
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def plural(number: int, one: str, many: str) -> str:
    """Return the form of a word that agrees with a number: `is` for 1, `are` for any other."""
    return one if number == 1 else many


@functools.cache
def warn_once(text: str) -> None:
    """Log a warning only once in a run, because several tasks and filters may cause the same one."""
    logger.warning("%s", text)


LIST_TASKS = "To list the tasks, run `mera-ru tasks`."


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a sentence that suggests the known names most similar to an unknown name.

    Args:
        name: the unknown name.
        known: the known names.
        otherwise: the sentence if no known name is similar. By default, it lists the known names.
    """
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.75)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return otherwise or f"Available: {', '.join(names)}."


def echo(text: object) -> None:
    """Print text to standard output, with control characters escaped."""
    print(printable(text))


def cell(text: object) -> Text:
    """Return a table cell that shows the text literally, without interpreting markup."""
    from rich.text import Text

    return Text(printable(text))


def console() -> Console:
    """Return the console for tables. If standard output is not a terminal, the console is 160 columns wide."""
    from rich.console import Console

    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=_WIDE)
