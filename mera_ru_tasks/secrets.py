"""Find keys, tokens and passwords in the settings that lm-eval copies into its results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

# A shorter API key is a placeholder (`none`, `EMPTY`) or a word. Replacing it everywhere would damage other text.
SHORTEST_KEY = 6

# Matches the names of settings that contain a secret, such as `hf_token` and `azure_api_key`, but not `max_gen_toks`.
_NAME = re.compile(
    r"(?:.*[_.-])?(?:token|(?:api|access|secret|account|private|subscription)[_-]?key|secret|password|passwd|pwd"
    r"|authorization|credentials?|cookie)",
    re.IGNORECASE,
)
# Matches the names of vocabulary tokens, which are not secret, such as `tokenizer_pad_token` and `think_end_token`.
_VOCABULARY = re.compile(
    r"(?:.*_)?(?:pad|eos|bos|unk|sep|cls|mask|eot|eod|start|end|stop|prefix|suffix|special|image|audio|video)_token",
    re.IGNORECASE,
)
_VALUE = rf"[^,;&?=\s\"'{{}}]{{{SHORTEST_KEY},}}"
# Matches `name=value` in a list of arguments or a URL query, and `"name": "value"` in the text of a dictionary.
_PAIR = re.compile(rf"([\w.-]+)[\"']?\s*[=:]\s*[\"']?({_VALUE})")
_TEXT = re.compile(
    r"\bhf_[A-Za-z0-9]{20,}|\bsk-[A-Za-z0-9_-]{20,}|\b(?:gh[opsu]|github_pat|glpat|xox[abprs]|pypi)[_-][A-Za-z0-9_-]{16,}"
    r"|\bAKIA[A-Z0-9]{12,}|\bAIza[A-Za-z0-9_-]{30,}|\bgsk_[A-Za-z0-9]{20,}"
    r"|(?<=://)[^/@\s]+(?=@)|(?i:(?<=\bbearer )|(?<=\bbasic ))[A-Za-z0-9._~+/=-]{6,}"
)


def is_secret_name(name: str) -> bool:
    """Return True if a setting with this name contains a secret, such as `hf_token`."""
    return _NAME.fullmatch(name) is not None and _VOCABULARY.fullmatch(name) is None


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets in a JSON value.

    Args:
        value: the results of a run, or a part of them.
        name: the name of the field that contains the value.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from secrets_in(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from secrets_in(part, name)
    elif isinstance(value, str):
        if is_secret_name(name) and len(value) >= SHORTEST_KEY:
            yield value
        yield from (found for key, found in _PAIR.findall(value) if is_secret_name(key))
        yield from _TEXT.findall(value)
