"""A stub of a judge's server: OpenAI's chat protocol over real HTTP on loopback, with faults by script.

Run as a program it serves until it is killed, and prints its address: `python judge_stub.py SECONDS_PER_REPLY`.
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

# Each way in which a reply can fail in passing.
FAULTS = ("429", "500", "reset", "timeout", "cut", "no json", "no choices", "off scale")
# And further ones, after which a question may stay without a verdict.
FURTHER_FAULTS = ("page", "null content", "two scores", "cut verdict", "list")


def hashed_score(message: str) -> int:
    """A score that depends on the question alone, and on nothing that a repeated question adds."""
    question = message.partition("\n\nТвой прошлый ответ")[0]
    return hashlib.sha256(question.encode()).digest()[0] % 3


class StubJudge:
    """The server, in a thread of its own; a context manager.

    Attributes:
        url: the address for LM_EVAL_JUDGE_API_BASE, once it runs.
        messages: every message that came in, in order, repeated ones too.
        bodies: the whole requests.
        headers: the requests' headers.
        attempts: how often each message came.
        flooded: the bytes of replies without an end that were sent, compressed or not.
        holds: for a question and its number (from 0) whether it must still wait for its reply; None for none.
    """

    def __init__(
        self,
        score: Score = hashed_score,
        *,
        faults: Faults | None = None,
        delay: float = 0.0,
        words: Callable[[str, int], str] | None = None,
        refuses: dict[str, int] | None = None,
        key: str | None = None,
        port: int = 0,
    ) -> None:
        """Script the server.

        Args:
            score: the verdict on a message, 0 to 2.
            faults: for a message and its attempt (from 0) the name of a fault, or None.
            delay: seconds a reply takes.
            words: the judge's whole text, in place of a verdict of `score`.
            refuses: the HTTP status with which a type of `response_format` is refused.
            key: the only key accepted; None for any.
            port: 0 for a free one.
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
        """End the server: its connections break and its port is closed."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopped.set)
            self._thread.join()

    @property
    def questions(self) -> list[str]:
        """The messages without the test question."""
        return [message for message in self.messages if "Зимой и летом одним цветом" not in message]

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
        if (
            self.holds
        ):  # not looked for where it is None: a benchmark's thousand questions would slow down as they pile up
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
        words = self.words(message, attempt) if self.words else self._verdict(message)
        return await self._fail(request, fault, words) if fault else web.json_response(completion(words))

    def _verdict(self, message: str) -> str:
        return json.dumps({"reason": "так решил судья", "score": self.score(message)}, ensure_ascii=False)

    async def _flood(self, request: web.Request, *, packed: bool) -> web.StreamResponse:
        """Send a reply without an end, plain or as a few compressed bytes."""
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
    """A chat completion whose message is `words`."""
    return {
        "id": "stub",
        "object": "chat.completion",
        "created": 1,
        "model": "stub",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": words}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
    }


if __name__ == "__main__":
    # The words of inspect-ai's graders stand in the reason, so that they read a verdict too.
    verdict = '{"reason": "так решил судья\\nGRADE: C", "score": 2}'
    with StubJudge(delay=float(sys.argv[1]), words=lambda message, attempt: verdict) as stub:
        print(stub.url, flush=True)
        sys.stdin.read()
