"""A local hub that implements the part of the Hugging Face hub's protocol that loading a dataset needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34

Repositories = Mapping[str, Mapping[str, bytes]]


@contextmanager
def hub(repositories: Repositories, models: Mapping[str, tuple[int, str]] | None = None) -> Iterator[str]:
    """Serve datasets at the commit `COMMIT`, and yield the address.

    Args:
        repositories: the files of each dataset by path.
        models: the status and error code for every file of each model.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            path = unquote(urlsplit(self.path).path)
            for name, files in repositories.items():
                if path.startswith(f"/api/datasets/{name}"):
                    return self.answer_api(name, files, path.removeprefix(f"/api/datasets/{name}"))
                if path.startswith(f"/datasets/{name}/resolve/"):
                    return self.answer_file(files, path.removeprefix(f"/datasets/{name}/resolve/").partition("/")[2])
            status, code = (models or {}).get(path[1:].partition("/resolve/")[0], (404, "RepoNotFound"))
            return self.answer(status, b"", {"X-Error-Code": code})

        do_HEAD = do_GET  # noqa: N815 (the name that http.server looks for)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            wanted = json.loads(body)["paths"] if body.startswith("{") else parse_qs(body)["paths"]
            path = unquote(urlsplit(self.path).path)
            (files,) = [files for name, files in repositories.items() if path.startswith(f"/api/datasets/{name}/")]
            self.answer_json([entry for entry in entries_of(files) if entry["path"] in wanted])

        def answer_api(self, name: str, files: Mapping[str, bytes], rest: str) -> None:
            if rest.startswith("/tree/"):
                folder = rest.removeprefix("/tree/").partition("/")[2]
                inside = [
                    entry for entry in entries_of(files) if str(PurePosixPath(entry["path"]).parent) == (folder or ".")
                ]
                return self.answer_json(inside)
            revision = rest.partition("/revision/")[2]
            if revision and revision not in ("main", COMMIT):
                return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            siblings = [{"rfilename": path} for path in files]
            return self.answer_json(
                {
                    "id": name,
                    "sha": COMMIT,
                    "siblings": siblings,
                    "tags": [],
                    "private": False,
                    "downloads": 0,
                    "likes": 0,
                }
            )

        def answer_file(self, files: Mapping[str, bytes], path: str) -> None:
            if path not in files:
                return self.answer(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            content = files[path]
            return self.answer(200, content, {"ETag": f'"{digest(content)}"', "X-Repo-Commit": COMMIT})

        def answer_json(self, content: object) -> None:
            self.answer(200, json.dumps(content).encode(), {"Content-Type": "application/json"})

        def answer(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def entries_of(files: Mapping[str, bytes]) -> list[dict[str, Any]]:
    folders = sorted({str(parent) for path in files for parent in PurePosixPath(path).parents} - {"."})
    return [
        *({"type": "directory", "path": path, "size": 0, "oid": digest(path.encode())} for path in folders),
        *({"type": "file", "path": path, "size": len(files[path]), "oid": digest(files[path])} for path in files),
    ]


def digest(content: bytes) -> str:
    return hashlib.sha1(content).hexdigest()
