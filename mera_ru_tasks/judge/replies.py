"""A server's reply becomes a verdict, or is unreadable. Nothing is guessed: no verdict is better than a wrong one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mera_ru_tasks.scoring import extract

SCALE = (0, 1, 2)

# The reason comes first: a judge that has said why scores better than one that says why it has scored so.
VERDICT_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": list(SCALE)}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
ResponseFormat = Mapping[str, Any] | None

# What to ask a server for, best first: OpenAI's own form, that of llama.cpp and its relatives, and plain text.
RESPONSE_FORMATS: tuple[ResponseFormat, ...] = (
    {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT_SCHEMA}},
    {"type": "json_object", "schema": VERDICT_SCHEMA},
    None,
)


class MalformedReplyError(ValueError):
    """A server's reply is no chat completion."""


@dataclass(frozen=True)
class Completion:
    """What a server replied: the message's text and the tokens that it counted (0 where it did not)."""

    text: str
    prompt_tokens: int
    completion_tokens: int


def parse_completion(body: str) -> Completion:
    """Take a chat completion apart.

    Raises:
        MalformedReplyError: the body is cut, is no JSON, or holds no choice.
    """
    try:
        content = json.loads(body)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MalformedReplyError("the reply is no valid JSON") from error
    choices = content.get("choices") if isinstance(content, Mapping) else None
    if not (isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping)):
        raise MalformedReplyError("the reply holds no choices")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise MalformedReplyError("the reply holds no message")
    text = message.get("content")
    usage = content.get("usage")
    return Completion(
        _encodable(text) if isinstance(text, str) else "",
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and count > 0 else 0


_SCORE_LINE = re.compile(r"(?:оценка|score) ?[:=] ?([012])\.?", re.IGNORECASE)
_LONGEST_SCORE_LINE = 60


def parse_verdict(text: str) -> tuple[int, str] | None:
    """Read the judge's message.

    A verdict is a JSON object with `score` and `reason`, bare or in a code fence; or, from servers that take no schema,
    a bare number of the scale, or a text with exactly one line `Оценка: 2`, which is its last.

    Returns:
        The score on the scale 0, 1, 2 and the reason; None where the message is neither.
    """
    # First as it stands: the reason in an object may name the marks of reasoning.
    whole = _from_json(text) if text.lstrip().startswith("{") else None
    if whole is not None:
        return whole
    text = extract.drop_reasoning(text).strip()
    head, _, fenced = text.partition("\n")
    if head.rstrip() in ("```", "```json") and fenced.endswith("```"):
        text = fenced.removesuffix("```").strip()
    if text.startswith("{"):
        return _from_json(text)
    if text in map(str, SCALE):
        return int(text), ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    scores = [(number, score) for number, line in enumerate(lines) if (score := _score_of_line(line)) is not None]
    if len(scores) == 1 and scores[0][0] == len(lines) - 1:
        return scores[0][1], "\n".join(lines[:-1])
    return None


def _score_of_line(line: str) -> int | None:
    """The score that a line gives, whatever emphasis is on it; None where it is another line."""
    if len(line) > _LONGEST_SCORE_LINE:
        return None
    found = _SCORE_LINE.fullmatch(" ".join(re.sub("[*_]", "", line).split()))
    return int(found[1]) if found else None


def _from_json(text: str) -> tuple[int, str] | None:
    try:
        verdict = json.loads(text, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return None
    score, reason = verdict.get("score"), verdict.get("reason")
    # True and 1.0 equal 1 in Python, but a judge that writes them uses another scale.
    if type(score) is not int or score not in SCALE:
        return None
    return score, _encodable(reason) if isinstance(reason, str) else ""


def _encodable(text: str) -> str:
    """The text without halves of surrogate pairs, which JSON can spell but no file can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _without_doubles(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field stands twice")
    return fields
