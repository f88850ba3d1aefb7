"""A stub of a judge's server: OpenAI's chat protocol over local HTTP, with scripted faults.

As a program, it prints its address and serves until it is killed: `python judge_stub.py SECONDS_PER_REPLY`.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

from aiohttp import web

Score = Callable[[str], int]
Faults = Callable[[str, int], "str | None"]

# The ways in which a reply can fail temporarily.
FAULTS = ("429", "500", "reset", "timeout", "cut", "no json", "no choices", "off scale")
# Additional ways, after which a question may have no verdict.
FURTHER_FAULTS = ("page", "null content", "two scores", "cut verdict", "list")


def hashed_score(message: str) -> int:
    """Return a score that depends only on the question, not on text that a repeated question adds."""
    question = message.partition("\n\nТвой прошлый ответ")[0]
    return hashlib.sha256(question.encode()).digest()[0] % 3


def is_test(message: str) -> bool:
    """Return True for the test question that is sent before the others."""
    return "Зимой и летом одним цветом" in message


class StubJudge:
    """The server, which runs in its own thread. Use it as a context manager.

    Attributes:
        url: the address for LM_EVAL_JUDGE_API_BASE while the server runs.
        messages: all received messages in order, including repeated ones.
        bodies: the complete requests.
        headers: the headers of the requests.
        attempts: the number of times that each message was received.
        flooded: the number of bytes sent in endless replies, compressed or not.
        holds: returns True if a question with this number (from 0) must still wait for its reply; None for no waiting.
    """

    def __init__(
        self,
        score: Score = hashed_score,
        *,
        faults: Faults | None = None,
        delay: float = 0.0,
        words: Callable[[str, int], str | None] | None = None,
        refuses: dict[str, int] | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        """Create the server.

        Args:
            score: returns the verdict on a message, 0 to 2.
            faults: returns the name of a fault, or None, for a message and its attempt (from 0).
            delay: the seconds before a reply.
            words: returns the complete text of the judge instead of a verdict, or None for a verdict.
            refuses: the HTTP status with which each unsupported type of `response_format` is refused.
            key: the only accepted key; None to accept any key.
            port: the port; 0 for a free one.
        """
        self.score, self.faults, self.delay, self.words = score, faults, delay, words
        self.refuses, self.key, self.port = refuses or {}, key, port
        self.url = ""
        self.messages: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.attempts: Counter[str] = Counter()
        self.flooded = 0
        self.holds: Callable[[str, int], bool] | None = None
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> StubJudge:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the server: break its connections and close its port."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    @property
    def questions(self) -> list[str]:
        """The messages without the test question."""
        return [message for message in self.messages if not is_test(message)]

    async def _serve(self) -> None:
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=2**26)
        app.router.add_post("/v1/chat/completions", self._reply)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self.port).start()
        self.port = runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._ready.set()
        await self._stopped.wait()
        await runner.cleanup()

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        message = body["messages"][-1]["content"]
        attempt = self.attempts[message]
        self.attempts[message] += 1
        self.messages.append(message)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if self.holds:  # skipped if it is None, because a thousand questions would become slow
            number = len(self.questions) - 1
            while message in self.questions and self.holds(message, number):
                await asyncio.sleep(0.002)
        if self.delay:
            await asyncio.sleep(self.delay)
        if self.key is not None and request.headers.get("Authorization") != f"Bearer {self.key}":
            given = request.headers.get("Authorization")
            return web.json_response({"error": {"message": f"Incorrect API key provided: {given}"}}, status=401)
        if status := self.refuses.get(body.get("response_format", {}).get("type")):
            return web.json_response({"error": {"message": "response_format is not supported"}}, status=status)
        fault = self.faults(message, attempt) if self.faults else None
        given = self.words(message, attempt) if self.words else None
        words = self._verdict(message) if given is None else given
        return await self._fail(request, fault, words) if fault else web.json_response(completion(words))

    def _verdict(self, message: str) -> str:
        return json.dumps({"reason": "так решил судья", "score": self.score(message)}, ensure_ascii=False)

    async def _flood(self, request: web.Request, *, packed: bool) -> web.StreamResponse:
        """Send an endless reply, as plain bytes or as a few compressed bytes."""
        response = web.StreamResponse(headers={"Content-Encoding": "gzip"} if packed else {})
        await response.prepare(request)
        part = b" " * (1 << 20)
        packer = zlib.compressobj(wbits=31)
        with contextlib.suppress(ConnectionError):
            while not self._stopped.is_set():
                sent = packer.compress(part) + packer.flush(zlib.Z_SYNC_FLUSH) if packed else part
                await response.write(sent)
                self.flooded += len(sent)
        return response

    async def _fail(self, request: web.Request, fault: str, words: str) -> web.StreamResponse:
        assert request.transport is not None
        if fault == "429":
            return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.01"})
        if fault == "500":
            return web.json_response({"error": {"message": "oops"}}, status=500, headers={"Retry-After": "0.01"})
        if fault == "reset":
            request.transport.abort()
        if fault == "timeout":
            await self._stopped.wait()
            request.transport.abort()
        if fault == "cut":
            response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": "1000"})
            await response.prepare(request)
            await response.write(json.dumps(completion(words)).encode()[:50])
            request.transport.abort()
            return response
        if fault in ("endless", "bomb"):
            return await self._flood(request, packed=fault == "bomb")
        if fault == "no json":
            return web.Response(text=json.dumps(completion(words))[:-9], content_type="application/json")
        if fault == "no choices":
            return web.json_response({**completion(words), "choices": []})
        if fault == "page":
            return web.Response(text="<html>502 Bad Gateway</html>", status=502, headers={"Retry-After": "0.01"})
        if fault == "list":
            return web.json_response([completion(words)])
        if fault in _UNREADABLE:
            return web.json_response(completion(_UNREADABLE[fault]))
        if fault == "off scale":
            return web.json_response(completion('{"reason": "отлично", "score": 10}'))
        return web.json_response({"error": {"message": fault}}, status=int(fault) if fault.isdigit() else 400)


_UNREADABLE = {
    "null content": None,
    "two scores": '{"reason": "", "score": 0, "score": 2}',
    "cut verdict": '{"score": 0, "reason": "ответ',
}


def completion(words: str | None) -> dict[str, Any]:
    """Return a chat completion with the message `words`."""
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


if __name__ == "__main__":
    # The reason contains the words that inspect-ai's graders expect, so that they also find a verdict.
    verdict = '{"reason": "так решил судья\\nGRADE: C", "score": 2}'
    with StubJudge(delay=float(sys.argv[1]), words=lambda message, attempt: verdict) as stub:
        print(stub.url, flush=True)
        sys.stdin.read()
