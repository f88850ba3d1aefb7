"""Send one question to the judge's server and parse the verdict.

The first attempt is made without the openai SDK. If it fails, the SDK takes over, with its retries, back-off and
support for Retry-After. If the reply is not clearly a verdict, an error is raised, because a missing verdict is better
than a wrong one.
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from mera_ru_tasks.judge.config import Settings
from mera_ru_tasks.scoring import extract
from mera_ru_tasks.textutil import encodable

# Added to a question whose first reply was unreadable, because a deterministic judge would otherwise repeat the reply.
REMINDER = (
    "\n\nТвой прошлый ответ не удалось прочитать. Выведи только объект JSON с полями reason (строка) и score "
    "(0, 1 или 2)."
)
# The longest wait between retries in seconds, as in the SDK.
LONGEST_WAIT = 8.0
# The maximum size of a reply in bytes. A verdict with long reasoning has about 100 kB, but a server may never stop.
LARGEST_REPLY = 4 << 20


class NoVerdictError(Exception):
    """Raised for a question without a verdict.

    Attributes:
        judge_is_gone: True if the server failed; False if only this question failed.
    """

    def __init__(self, why: str, *, judge_is_gone: bool) -> None:
        super().__init__(why)
        self.judge_is_gone = judge_is_gone


@dataclass(frozen=True)
class Verdict:
    """A verdict of the judge.

    Attributes:
        score: 0, 1 or 2.
        reason: the judge's reason; may be empty.
        raw: the text of the reply.
        prompt_tokens: the number of prompt tokens, over both attempts.
        completion_tokens: the number of generated tokens, over both attempts.
    """

    score: int
    reason: str
    raw: str
    prompt_tokens: int
    completion_tokens: int


class JudgeClient:
    """A connection to a judge, used as an async context manager."""

    def __init__(self, settings: Settings, response_format: ResponseFormat, *, retries: int | None = None) -> None:
        """Prepare the connection.

        Args:
            settings: the settings of the judge.
            response_format: the output format to request (one of `RESPONSE_FORMATS`).
            retries: the number of retries after a failed request; None to use the settings.
        """
        import openai

        self._settings = settings
        self._retries = settings.retries if retries is None else retries
        self._client = openai.AsyncOpenAI(
            base_url=settings.api_base,
            api_key=settings.key,
            timeout=settings.timeout,
            max_retries=self._retries,
            default_headers={"Accept-Encoding": "identity"},
        )
        self._url = f"{settings.api_base}/chat/completions"
        fields = {"model": settings.model, "temperature": 0, **settings.extra_fields}
        self._fields = {name: value for name, value in fields.items() if value is not None}
        if response_format is not None:
            self._fields["response_format"] = response_format

    async def __aenter__(self) -> JudgeClient:
        import aiohttp

        headers = {name: value for name, value in self._client.default_headers.items() if isinstance(value, str)}
        # Replies are small. Compression is off, so that a small reply cannot expand into a large one.
        headers |= {"Authorization": f"Bearer {self._settings.key}", "Accept-Encoding": "identity"}
        timeout = aiohttp.ClientTimeout(total=self._settings.timeout)
        # Enable proxies only if there are any, because aiohttp looks for them before each request in a separate thread.
        proxied = bool(urllib.request.getproxies())
        self._session = aiohttp.ClientSession(
            headers=headers, timeout=timeout, trust_env=proxied, auto_decompress=False
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._session.close()
        await self._client.close()

    async def ask(self, question: str) -> Verdict:
        """Ask one question, and ask it again if the reply contains no readable verdict.

        Raises:
            NoVerdictError: the server failed after all retries, or the second reply is not readable either.
        """
        import openai

        redact = self._settings.redact
        spent = [0, 0]
        for message in (question, question + REMINDER):
            try:
                completion = await self._try_once(message) or await self.complete(message)
            except (openai.APIError, MalformedReplyError) as error:
                # If the server refuses a request (content filter, length limit), the next one may still succeed.
                refused = isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError))
                raise NoVerdictError(redact(explain(error)), judge_is_gone=not refused) from None
            spent[0] += completion.prompt_tokens
            spent[1] += completion.completion_tokens
            # Parse before redacting, because the key may be equal to a number or word in the reply.
            verdict = parse_verdict(completion.text)
            if verdict is not None:
                score, reason = verdict
                return Verdict(score, redact(reason), redact(completion.text), *spent)
        raise NoVerdictError("the judge's reply contains no readable verdict", judge_is_gone=False)

    async def _try_once(self, message: str) -> Completion | None:
        """Send one request without the SDK; return None on any failure, so that the SDK retries it.

        Nearly all requests succeed on the first attempt. For each, the SDK needs four times the CPU
        time of this method. With 32 requests in flight, the SDK would be the bottleneck, not the judge.
        """
        import aiohttp

        try:
            async with self._session.post(self._url, json=self._body(message), allow_redirects=False) as reply:
                if reply.status == 200:
                    return parse_completion(await _read_bounded(reply.content.iter_any()))
                wait = reply.headers.get("Retry-After", "")
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, MalformedReplyError):
            return None
        if re.fullmatch(r"\d{1,2}(\.\d+)?", wait):
            await asyncio.sleep(float(wait))
        return None

    def _body(self, message: str) -> dict[str, Any]:
        return {**self._fields, "messages": [{"role": "user", "content": message}]}

    async def complete(self, message: str) -> Completion:
        """Send one message with the SDK, which retries failed requests. Malformed replies are retried in the same way.

        Raises:
            openai.APIError: the server cannot be reached or refuses the request.
            MalformedReplyError: the reply is not a chat completion.
        """
        body = self._body(message)
        for attempt in range(self._retries + 1):
            try:
                return parse_completion(await self._receive(body))
            except MalformedReplyError:
                if attempt == self._retries:
                    raise
            await asyncio.sleep(min(0.5 * 2**attempt, LONGEST_WAIT))
        raise AssertionError("the last attempt returns or raises")

    async def _receive(self, body: dict[str, Any]) -> str:
        """Send a request with the SDK, and read the reply in parts, because it may be endless."""
        import openai

        completions = self._client.chat.completions.with_streaming_response
        fields = {name: value for name, value in body.items() if name not in ("model", "messages")}
        async with completions.create(model=body["model"], messages=body["messages"], extra_body=fields) as reply:
            try:
                return await _read_bounded(reply.iter_bytes())
            except (MalformedReplyError, openai.APIError):
                raise
            except Exception as error:  # of the SDK's HTTP library, which depends on the SDK's version
                raise MalformedReplyError(f"the reply was interrupted ({type(error).__name__})") from error


async def _read_bounded(parts: AsyncIterator[bytes]) -> str:
    """Return the body of a reply, or raise MalformedReplyError if it is larger than `LARGEST_REPLY`."""
    read, size = [], 0
    async for part in parts:
        read.append(part)
        size += len(part)
        if size > LARGEST_REPLY:
            raise MalformedReplyError(f"the reply is larger than {LARGEST_REPLY >> 20} MiB")
    return b"".join(read).decode("utf-8", "replace")


def explain(error: Exception) -> str:
    """Describe an SDK error in one line: the status and the server's message, or the cause of a connection failure."""
    import openai

    if isinstance(error, openai.APIStatusError):
        body = error.body if isinstance(error.body, dict) else {}
        message = body.get("message") or error.response.text
        return _one_line(f"HTTP {error.status_code}: {message}")
    cause: BaseException = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    return _one_line(f"{type(cause).__name__}: {cause}")


def _one_line(text: str) -> str:
    """Return the first 300 characters of untrusted text on one line, with control characters replaced by `?`."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split())[:300])


def run_async(work: Any) -> Any:
    """Run a coroutine to completion, even if an event loop is already running, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


SCALE = (0, 1, 2)

# The reason comes first, because a judge scores better after it has given a reason.
VERDICT_SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "enum": list(SCALE)}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
ResponseFormat = Mapping[str, Any] | None

# The output formats to request, best first: OpenAI's format, the format of llama.cpp and similar servers, plain text.
RESPONSE_FORMATS: tuple[ResponseFormat, ...] = (
    {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": VERDICT_SCHEMA}},
    {"type": "json_object", "schema": VERDICT_SCHEMA},
    None,
)


class MalformedReplyError(ValueError):
    """Raised for a reply that is not a chat completion."""


@dataclass(frozen=True)
class Completion:
    """The text of a server's reply and the token counts that it reports (0 if it reports none)."""

    text: str
    prompt_tokens: int
    completion_tokens: int


def parse_completion(body: str) -> Completion:
    """Parse a chat completion.

    Raises:
        MalformedReplyError: the body is truncated, is not JSON or has no choices.
    """
    try:
        content = json.loads(body)
    except (json.JSONDecodeError, RecursionError) as error:
        raise MalformedReplyError("the reply is not valid JSON") from error
    choices = content.get("choices") if isinstance(content, Mapping) else None
    if not (isinstance(choices, Sequence) and choices and isinstance(choices[0], Mapping)):
        raise MalformedReplyError("the reply contains no choices")
    message = choices[0].get("message")
    if not isinstance(message, Mapping):
        raise MalformedReplyError("the reply contains no message")
    text = message.get("content")
    usage = content.get("usage")
    return Completion(
        encodable(text) if isinstance(text, str) else "",
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
    )


def _count(usage: Any, name: str) -> int:
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and count > 0 else 0


_SCORE_LINE = re.compile(r"(?:оценка|score) ?[:=] ?([012])\.?", re.IGNORECASE)
_LONGEST_SCORE_LINE = 60


def parse_verdict(text: str) -> tuple[int, str] | None:
    """Parse the judge's message.

    A verdict is a JSON object with `score` and `reason`, which may be in a code fence. Because some servers do not
    support schemas, a verdict may also be a single number of the scale, or a text whose last line, and no other line,
    is like `Оценка: 2`.

    Returns:
        The score (0, 1 or 2) and the reason, or None if the message is not a verdict.
    """
    # Try the whole message before removing reasoning, because the reason in an object may quote reasoning tags.
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
    """Return the score in a line like `**Оценка: 2**`, or None for any other line."""
    if len(line) > _LONGEST_SCORE_LINE:
        return None
    found = _SCORE_LINE.fullmatch(" ".join(re.sub("[*_]", "", line).split()))
    return int(found[1]) if found else None


def _from_json(text: str) -> tuple[int, str] | None:
    try:
        verdict = json.loads(text, object_pairs_hook=_without_duplicates)
    except (ValueError, RecursionError):
        return None
    score, reason = verdict.get("score"), verdict.get("reason")
    # In Python, True and 1.0 equal 1, but a judge that writes them uses a different scale.
    if type(score) is not int or score not in SCALE:
        return None
    return score, encodable(reason) if isinstance(reason, str) else ""


def _without_duplicates(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field occurs twice")
    return fields
