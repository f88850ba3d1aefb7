"""A local HTTP server for OpenAI's chat protocol, with scripted answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

# The answer to a prompt: a text, None for a message without text, or an HTTP status for a failure.
Answer = Callable[[str], "str | int | None"]


class ChatServer:
    """The server, which runs in its own threads. Use it as a context manager.

    Attributes:
        url: the value for `base_url`.
        requests: the bodies of the requests.
        headers: the headers of the requests.
    """

    def __init__(self, answer: Answer, *, meeting: int = 1) -> None:
        """Create the server.

        Args:
            answer: returns the answer to a prompt.
            meeting: the number of requests that must have arrived before the first one is answered.
        """
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self._answer = answer
        self._waiting = [threading.Barrier(meeting, timeout=300)]
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/chat/completions"

    def __enter__(self) -> ChatServer:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _reply(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append(body)
        for barrier in self._waiting:
            barrier.wait()
            self._waiting.clear()
        answer = self._answer(body["messages"][-1]["content"])
        if isinstance(answer, int):
            return answer, {"error": {"message": "the server is scripted to fail"}}
        message = {"role": "assistant", "content": answer}
        choice = {"index": 0, "message": message, "finish_reason": "length" if answer is None else "stop"}
        return 200, {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"], "choices": [choice]}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                server.headers.append(dict(self.headers))
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                known = self.path == "/v1/chat/completions"
                status, reply = server._reply(body) if known else (404, {"error": {"message": self.path}})
                content = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler
