"""The judge's server: one question, one verdict, or an error that says why there is none.

What goes wrong is the openai SDK's to mend: retries, back-off, Retry-After. What goes right does not need it.
"""

from __future__ import annotations

import asyncio
import re
import urllib.request
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from mera_ru_tasks.judge.config import Settings
from mera_ru_tasks.judge.replies import Completion, MalformedReplyError, ResponseFormat, parse_completion, parse_verdict

# Put below a question whose first reply could not be read; a judge without randomness would say the same again.
_REMINDER = (
    "\n\nТвой прошлый ответ не удалось прочитать. Выведи только объект JSON с полями reason (строка) и score "
    "(0, 1 или 2)."
)
# Seconds between repeated requests at the most, as in the SDK.
LONGEST_WAIT = 8.0


class NoVerdictError(Exception):
    """A question got no verdict.

    Attributes:
        judge_is_gone: whether the server failed, rather than the judge's words; if all questions fail so, it is down.
    """

    def __init__(self, why: str, *, judge_is_gone: bool) -> None:
        super().__init__(why)
        self.judge_is_gone = judge_is_gone


@dataclass(frozen=True)
class Reply:
    """A verdict as the judge gave it: the score (0, 1 or 2), its reason, the raw text, and all tokens spent on it."""

    score: int
    reason: str
    raw: str
    prompt_tokens: int
    completion_tokens: int


class JudgeClient:
    """An open connection to a judge; an async context manager."""

    def __init__(self, settings: Settings, response_format: ResponseFormat, *, retries: int | None = None) -> None:
        """Prepare the connection.

        Args:
            settings: which judge.
            response_format: the form of output to ask for (see `replies.RESPONSE_FORMATS`).
            retries: default: the settings'.
        """
        import openai

        self._settings = settings
        self._retries = settings.retries if retries is None else retries
        self._client = openai.AsyncOpenAI(
            base_url=settings.api_base, api_key=settings.key, timeout=settings.timeout, max_retries=self._retries
        )
        self._url = f"{settings.api_base}/chat/completions"
        fields = {"model": settings.model, "temperature": 0, **settings.extra_fields}
        self._fields = {name: value for name, value in fields.items() if value is not None}
        if response_format is not None:
            self._fields["response_format"] = response_format

    async def __aenter__(self) -> JudgeClient:
        import aiohttp

        headers = {name: value for name, value in self._client.default_headers.items() if isinstance(value, str)}
        headers["Authorization"] = f"Bearer {self._settings.key}"
        timeout = aiohttp.ClientTimeout(total=self._settings.timeout)
        # aiohttp looks for proxies before each request, in a thread of its own.
        proxied = bool(urllib.request.getproxies())
        self._session = aiohttp.ClientSession(headers=headers, timeout=timeout, trust_env=proxied)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._session.close()
        await self._client.close()

    async def ask(self, question: str) -> Reply:
        """Ask one question, and once more where the verdict cannot be read.

        Raises:
            NoVerdictError: the server failed for good, or the second verdict cannot be read either.
        """
        import openai

        redact = self._settings.redact
        spent = [0, 0]
        for message in (question, question + _REMINDER):
            try:
                completion = await self._try_once(message) or await self.complete(message)
            except (openai.APIError, MalformedReplyError) as error:
                # A request that the server refuses (a filter, a limit of length) says nothing of the next one.
                refused = isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError))
                raise NoVerdictError(redact(explain(error)), judge_is_gone=not refused) from None
            spent[0] += completion.prompt_tokens
            spent[1] += completion.completion_tokens
            # Read before the key is replaced, which a number or a word of the reply may be part of.
            verdict = parse_verdict(completion.text)
            if verdict is not None:
                score, reason = verdict
                return Reply(score, redact(reason), redact(completion.text), *spent)
        raise NoVerdictError("the judge's words hold no readable verdict", judge_is_gone=False)

    async def _try_once(self, message: str) -> Completion | None:
        """Send one message past the SDK; None where anything is wrong with the reply, and the SDK has to see to it.

        Nearly all questions are answered at once. For them the SDK takes four times the processor time of the request
        itself, and at 32 open questions that, not the judge, would set the pace.
        """
        import aiohttp

        try:
            async with self._session.post(self._url, json=self._body(message), allow_redirects=False) as reply:
                if reply.status == 200:
                    return parse_completion(await reply.text("utf-8", "replace"))
                wait = reply.headers.get("Retry-After", "")
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError, MalformedReplyError):
            return None
        if re.fullmatch(r"\d{1,2}(\.\d+)?", wait):
            await asyncio.sleep(float(wait))
        return None

    def _body(self, message: str) -> dict[str, Any]:
        return {**self._fields, "messages": [{"role": "user", "content": message}]}

    async def complete(self, message: str) -> Completion:
        """Send one message. The SDK repeats what fails in passing; a reply that is cut or empty is repeated alike.

        Raises:
            openai.APIError: the server cannot be reached, or refuses.
            MalformedReplyError: what it sends is no chat completion.
        """
        body = self._body(message)
        for attempt in range(self._retries + 1):
            try:
                return parse_completion(await self._client.post("/chat/completions", cast_to=str, body=body))
            except MalformedReplyError:
                if attempt == self._retries:
                    raise
            await asyncio.sleep(min(0.5 * 2**attempt, LONGEST_WAIT))
        raise AssertionError("the last attempt returns or raises")


def explain(error: Exception) -> str:
    """An error of the SDK in one line: the status and the server's message, or what broke the connection."""
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
    """The beginning of a foreign text, without what could steer a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split())[:300])


def run_async(work: Any) -> Any:
    """Run a coroutine to its end, also where the caller is inside an event loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()
