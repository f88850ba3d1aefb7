"""Keep keys, tokens, passwords and local paths out of messages and published files.

Archives, results and reports are built only from the settings named here. Other texts, such as prompts, are searched
for secrets.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HIDDEN = "HIDDEN"

# A shorter API key is a placeholder (`none`, `EMPTY`) or a word. Replacing it everywhere would damage other text.
SHORTEST_KEY = 6

# Model arguments and generation settings whose values may be published. All other values are hidden.
PUBLIC_SETTINGS = frozenset(
    "pretrained model model_name tokenizer peft delta gguf_file revision subfolder dtype backend truncation"
    " max_length max_model_len max_gen_toks max_tokens max_new_tokens max_completion_tokens add_bos_token"
    " prefix_token_id logits_cache load_in_4bit load_in_8bit quantization autogptq gptqmodel softmax_dtype"
    " attn_implementation use_fast_tokenizer trust_remote_code enable_thinking think_end_token tokenized_requests"
    " tokenizer_backend chat_template seed until do_sample temperature top_p top_k min_p typical_p num_beams"
    " num_return_sequences length_penalty repetition_penalty presence_penalty frequency_penalty no_repeat_ngram_size"
    " early_stopping skip_special_tokens reasoning_effort".split()
)

# The last words in the names of secret settings, such as `hf_token` and `azure_api_key`, but not `max_gen_toks`.
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
# Parts of the names of secret settings. A text without these parts is not searched for names.
_NAME_WORDS = ("token", "key", "secret", "passw", "pwd", "authorization", "credential", "cookie")
_VALUE = rf"[^,;&?=\s\"'\\{{}}]{{{SHORTEST_KEY},}}"
# `name=value` in a list of arguments or in a URL's query, and `"name": "value"` in a dictionary as text.
_PAIR = re.compile(rf"(?<![\w.-])([\w.-]{{1,80}})\\?[\"']?\s{{0,9}}[=:]\s{{0,9}}\\?[\"']?({_VALUE})")
# The beginnings of the tokens of common services.
_PREFIXES = tuple(
    "hf_ api_org_ sk- sk_live_ sk_test_ rk_live_ gsk_ csk- xai- pplx- nvapi- tvly- fw_ tgp_v1_ r8_ npm_ pypi- dop_v1_"
    " ghp_ gho_ ghu_ ghs_ github_pat_ glpat- xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- lin_api_ dckr_pat_ SG."
    " AKIA ASIA AIza AQVN t1. y0_ y1_ y2_ y3_ ya29. dapi eyJ".split()
)
_TOKEN = re.compile(rf"\b(?:{'|'.join(map(re.escape, _PREFIXES))})[A-Za-z0-9_.=-]{{16,}}")
# Credentials in URLs and header lines, and private keys.
_CREDENTIALS = re.compile(
    r"(?<=://)[^/@\s\"']{1,256}(?=@)|(?i:(?<=\bbearer )|(?<=\bbasic ))[A-Za-z0-9._~+/=-]{6,}"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]*"
)
# The path and query of a URL, in which some services expect a token.
_BEHIND_HOST = re.compile(r"(?<=://)([^/?#\s\"']+)[/?#][^\s\"',]*")


def is_secret_name(name: str) -> bool:
    """Return True if a setting with this name contains a secret, such as `hf_token`."""
    return _NAME.fullmatch(name) is not None and _VOCABULARY.fullmatch(name) is None


def secrets_in(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets in a JSON value, which are recognized by the names of their settings or by their form.

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
        lowered = value.lower()
        if any(word in lowered for word in _NAME_WORDS):
            yield from (found for key, found in _PAIR.findall(value) if is_secret_name(key))
        yield from tokens_in(value)


def tokens_in(text: str) -> Iterator[str]:
    """Yield the secrets in a text that are recognized by their form, such as `hf_…`."""
    if any(prefix in text for prefix in _PREFIXES):
        yield from _TOKEN.findall(text)
    if "://" in text or "-----BEGIN" in text or re.search("bearer |basic ", text, re.IGNORECASE):
        yield from _CREDENTIALS.findall(text)


def without(value: Any, secrets: Iterable[str]) -> Any:
    """Return a JSON value with these secrets replaced in every text."""
    return _replaced(value, sorted({secret for secret in secrets if secret}, key=len, reverse=True))


def _replaced(value: Any, secrets: list[str]) -> Any:
    if not secrets:
        return value
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {_replaced(key, secrets): _replaced(part, secrets) for key, part in value.items()}
    return [_replaced(part, secrets) for part in value] if isinstance(value, (list, tuple)) else value


def hidden(text: str) -> str:
    """Return a text with its secrets replaced."""
    return str(without(text, secrets_in(text)))


def without_tokens(text: str) -> str:
    """Return a text without the tokens of common services, for messages that name files, folders and models."""
    return _TOKEN.sub(HIDDEN, text) if any(prefix in text for prefix in _PREFIXES) else text


def without_own_secrets(text: str) -> str:
    """Return a text, such as a traceback, without the secrets in this process's environment and arguments."""
    named = {value for name, value in os.environ.items() if is_secret_name(name) and len(value) >= SHORTEST_KEY}
    return hidden(str(without(text, named | set(secrets_in(sys.argv)))))


def fingerprint(text: str) -> str:
    """Return a short hash, which shows whether two texts are equal without revealing them."""
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


def server_of(address: str) -> str:
    """Return a text with its URLs cut after the host, because some services expect a token in the path."""
    return _BEHIND_HOST.sub(r"\1", hidden(address))


def public_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that may be published; a local path is reduced to its last part."""
    return {name: _public(value) for name, value in settings.items() if name in PUBLIC_SETTINGS}


def comparable_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings, with fingerprints in place of the values that may not be published."""
    return {
        name: value if name in PUBLIC_SETTINGS else fingerprint(str(value))
        for name, value in settings.items()
        if not is_secret_name(name)
    }


def _public(value: Any) -> Any:
    if isinstance(value, str):
        return public_name(value)
    if isinstance(value, list):
        return [hidden(part) if isinstance(part, str) else _public(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, float)) else HIDDEN


def public_name(name: str) -> str:
    """Return the name of a model without folders of this machine and without secrets."""
    path = as_path(name)
    return server_of(path.rpartition("/")[2] if is_local(path) else name)


def as_path(name: str) -> str:
    """Return a model's name with uniform slashes; lm-eval's folder name for a local path has `__` instead."""
    path = name.replace("\\", "/").rstrip("/")
    return path.replace("__", "/") if path.startswith("__") else path


def is_local(path: str) -> bool:
    """Return True if a model's name, as `as_path` returns it, is a path on this machine."""
    return path.startswith(("/", "./", "../", "~")) or path[1:3] == ":/"
