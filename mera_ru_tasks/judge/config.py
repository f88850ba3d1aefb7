"""Read the judge's settings from the environment, and identify judges and questions.

Judge scores are comparable only if they come from the same judge.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from mera_ru_tasks.issues import JudgeError
from mera_ru_tasks.paths import expanded
from mera_ru_tasks.secrets import SHORTEST_KEY, public_name, secrets_in, without
from mera_ru_tasks.textutil import quoted, read_json

API_BASE = "LM_EVAL_JUDGE_API_BASE"
MODEL = "LM_EVAL_JUDGE_MODEL"
API_KEY = "LM_EVAL_JUDGE_API_KEY"
OPENAI_KEY = "OPENAI_API_KEY"
CONCURRENCY = "LM_EVAL_JUDGE_CONCURRENCY"
TIMEOUT = "LM_EVAL_JUDGE_TIMEOUT"
CACHE = "LM_EVAL_JUDGE_CACHE"
PROMPT = "LM_EVAL_JUDGE_PROMPT"
EXTRA = "LM_EVAL_JUDGE_EXTRA"
SKIP_EXACT = "LM_EVAL_JUDGE_SKIP_EXACT"

# Sent to servers that need no key, because the SDK requires one.
NO_KEY = "none"
# MERA's variable with the same name contains the prompt itself, with placeholders such as `{reference_answer}`.
_INLINE_PROMPT = re.compile(r"\n|\{\w+\}|\{\{")

# Request fields that only this package sets, because other values would break the questions or the parsing of replies.
_OUR_FIELDS = ("messages", "model", "n", "response_format", "stream")

_LIKE_A_TOKEN = 12

T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """The settings of a judge.

    Attributes:
        api_base: the address of the OpenAI-compatible server, with or without `/v1` (see `run.check`).
        model: the name of the model on the server.
        key: the API key, or `NO_KEY` for a server without keys; left out of `repr()`.
        cache: the file with the stored verdicts.
        concurrency: the maximum number of concurrent requests.
        timeout: the timeout of one request in seconds.
        prompt: a Jinja file that replaces the built-in prompt; None for the built-in prompt.
        extra: additional fields of each request, as canonical JSON.
        skip_exact: True to give a strict exact match the score 1 without a question.
        retries: the maximum number of retries after a temporary failure.
    """

    api_base: str = field(repr=False)
    model: str
    key: str = field(repr=False)
    cache: Path
    concurrency: int = 32
    timeout: float = 120.0
    prompt: Path | None = None
    extra: str = field(default="{}", repr=False)
    skip_exact: bool = True
    retries: int = 8

    @property
    def extra_fields(self) -> dict[str, Any]:
        """Return the additional fields of each request. The value None removes a default field."""
        fields: dict[str, Any] = json.loads(self.extra)
        return fields

    @property
    def name(self) -> str:
        """The judge's name without folders of this machine, for messages and files."""
        return public_name(self.model)

    @property
    def address(self) -> str:
        """The server's address for messages, without tokens in its path."""
        return self.redact(self.api_base)

    def redact(self, text: str) -> str:
        """Return the text without the settings' secrets, which a server's message may repeat."""
        return str(without(text, self._secrets()))

    def _secrets(self) -> Iterator[str]:
        if len(self.key) >= SHORTEST_KEY:  # a shorter key is a placeholder
            yield self.key
        yield from secrets_in(self.extra_fields)
        # Long values without spaces may be tokens whatever their name.
        texts = [*re.findall(r'"([^"\s]*)"', self.extra), *urlsplit(self.api_base).path.split("/")]
        yield from (text for text in texts if len(text) >= _LIKE_A_TOKEN)


def is_configured(environment: Mapping[str, str] | None = None) -> bool:
    """Return True if the judge's address, name or key is set. OPENAI_API_KEY alone does not count."""
    values = os.environ if environment is None else environment
    return any(values.get(name, "").strip() for name in (API_BASE, MODEL, API_KEY))


def from_environment(environment: Mapping[str, str] | None = None) -> Settings | None:
    """Read the settings.

    Args:
        environment: the environment variables; None for those of the process.

    Returns:
        The settings, or None if no judge is configured.

    Raises:
        JudgeError: a setting is missing or invalid. The message names the variable.
    """
    environment = os.environ if environment is None else environment
    if not is_configured(environment):
        return None
    values = {name: value.strip() for name, value in environment.items() if value.strip()}
    key_name = API_KEY if API_KEY in values else OPENAI_KEY
    for name, what in ((API_BASE, "the server's address"), (MODEL, "the judge's name")):
        if name not in values:
            raise JudgeError(
                f"A judge is configured, but {name} ({what}) is not set. Set it, or unset {API_BASE}, {MODEL} and "
                f"{API_KEY}."
            )

    def read(name: str, parse: Callable[[str], T], default: T) -> T:
        return parse(values[name]) if name in values else default

    return Settings(
        api_base=_address(values[API_BASE]),
        model=values[MODEL],
        key=_key(key_name, values.get(key_name, NO_KEY)),
        cache=read(CACHE, expanded, default_cache(values)),
        concurrency=read(CONCURRENCY, _concurrency, Settings.concurrency),
        timeout=read(TIMEOUT, _timeout, Settings.timeout),
        prompt=read(PROMPT, _prompt, Settings.prompt),
        extra=read(EXTRA, _extra, Settings.extra),
        skip_exact=read(SKIP_EXACT, _switch, Settings.skip_exact),
    )


def require() -> Settings:
    """Return the settings, or raise JudgeError if no judge is configured."""
    settings = from_environment()
    if settings is None:
        raise JudgeError(
            f"No judge is configured. Set {API_BASE} and {MODEL}. If the server needs a key, set {API_KEY} or "
            f"{OPENAI_KEY}."
        )
    return settings


def default_cache(environment: Mapping[str, str]) -> Path:
    """Return the default cache file, as the XDG Base Directory Specification defines it."""
    root = Path(environment.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return root / "mera-ru-tasks" / "judge.sqlite"


def _address(value: str) -> str:
    try:
        parts = urlsplit(value)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or True)
    except ValueError:
        good = False
    if not good:
        raise JudgeError(f"{API_BASE} is not a server address. Example: http://localhost:8000/v1.")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise JudgeError(
            f"{API_BASE} contains a user name, password or query. Set it to the address only, and {API_KEY} to the key."
        )
    value = value.rstrip("/")
    if value.endswith("/chat/completions"):
        raise JudgeError(f"{API_BASE} ends in /chat/completions, which this package adds. Remove this ending.")
    return value


def _key(name: str, value: str) -> str:
    if not (value.isascii() and value.isprintable() and " " not in value):
        raise JudgeError(f"{name} contains characters that an API key cannot have. Copy the key again.")
    return value


def _prompt(value: str) -> Path:
    if _INLINE_PROMPT.search(value):
        raise JudgeError(
            f"{PROMPT} contains the text of a prompt, as for MERA's judge. This package expects the path of a Jinja "
            "file. Write the prompt to a file, with {{ task }} for the instruction, {{ reference }} for the reference "
            "answer and {{ answer }} for the answer to judge. Ask for one of the integers 0, 1 and 2."
        )
    return expanded(value)


def _concurrency(value: str) -> int:
    if not (value.isascii() and value.isdigit() and 1 <= int(value) <= 1024):
        raise JudgeError(f"{CONCURRENCY} is {quoted(value)}. Set it to a number of requests from 1 to 1024.")
    return int(value)


def _timeout(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise JudgeError(f"{TIMEOUT} is {quoted(value)}. Set the timeout of a request in seconds, such as 120.")
    return seconds


def _switch(value: str) -> bool:
    meanings = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if value.lower() not in meanings:
        raise JudgeError(
            f"{SKIP_EXACT} is {quoted(value)}. Set 1 to score exact matches without the judge, or 0 to judge them."
        )
    return meanings[value.lower()]


def _extra(value: str) -> str:
    try:
        fields = read_json(value)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise JudgeError(f'{EXTRA} is not a JSON object. Example: {{"temperature": 0.2, "max_tokens": 2000}}.')
    if ours := [name for name in _OUR_FIELDS if name in fields]:
        raise JudgeError(f"{EXTRA} sets the field `{ours[0]}`, which only this package may set. Remove the field.")
    return json.dumps(fields, sort_keys=True)


# The field of a task's `metadata` that describes the judge of the run. lm-eval copies the metadata to its results.
METADATA = "mera_ru_judge"

# The fields that identify a judge. The address is not one of them, because it may change (see `question_key`).
_FIELDS = ("model", "prompt_version", "extra", "skip_exact")


def judge_description(settings: Settings) -> dict[str, Any]:
    """Return the description of a judge that is stored with its verdicts.

    To contain no secrets, it has only the server part of the address, and only the names and a hash of the additional
    request fields.
    """
    from mera_ru_tasks.judge.questions import load_prompt

    fields, address = settings.extra_fields, urlsplit(settings.api_base)
    digest = hashlib.sha256(settings.extra.encode()).hexdigest()
    return {
        "model": settings.name,
        "api_base": f"{address.scheme}://{address.netloc}",
        "prompt_version": load_prompt(settings).version,
        "extra": f"{', '.join(sorted(fields))} ({digest[:12]})" if fields else "none",
        "skip_exact": settings.skip_exact,
    }


def identity(description: Any) -> dict[str, Any] | None:
    """Return the identifying fields of a stored description, or None if a field is missing."""
    if not isinstance(description, Mapping) or not all(description.get(name) is not None for name in _FIELDS):
        return None
    return {name: description[name] for name in _FIELDS}


def question_key(settings: Settings, prompt_version: str, rendered: str) -> str:
    """Return a hash of what determines a verdict: the judge, request fields, prompt version and rendered question."""
    parts = [settings.model, settings.extra, prompt_version, rendered]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
