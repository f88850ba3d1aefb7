"""From a document to the text of its prompt."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")


def fill(doc: Mapping[str, Any]) -> str:
    """The document's instruction with its `{placeholders}` filled from its inputs, in one pass.

    Only a `{name}` that names an input is a placeholder, and what was filled in is not read again.
    """
    inputs: Mapping[str, str] = doc["inputs"]
    return _PLACEHOLDER.sub(lambda match: inputs.get(match[1], match[0]), doc["instruction"])
