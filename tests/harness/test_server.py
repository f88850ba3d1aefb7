"""Run the documented command with an OpenAI-compatible server as the model, over HTTP."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.chat_server import ChatServer
from tests.support.command import in_process
from tests.support.documents import REPOSITORY, blocks, page
from tests.support.scripted import numbers, reference, run

pytestmark = pytest.mark.slow

TASKS = ("enantiosemy_sample", "riddles_sample", "russian_regions_sample")


def answer_of(doc: Mapping[str, Any], prompt: str = "") -> str | None:
    """Answer in turn: correct in the required format, correct with reasoning and an explanation, wrong, no text."""
    right = reference(doc)
    return (right, f"<think>Хм.</think>{right}, потому что так.", "Ответ: не знаю", None)[doc["meta"]["id"] % 4]


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """Return the results of the same answers without a server, and the document of each prompt."""
    results = run(None, ["mera_ru_sample"], answer_of)
    samples = (sample for task in TASKS for sample in results["samples"][task])
    return {"results": results, "docs": {sample["arguments"][0][0]: sample["doc"] for sample in samples}}


def command(
    folder: Path, server: ChatServer, tasks: str = "mera_ru_sample", **model_args: object
) -> subprocess.CompletedProcess[str]:
    """Run the documented command in `folder` with this server. Additional `model_args` follow those of the command."""
    [block] = [block for block in blocks(page("servers"), "bash") if "local-chat-completions" in block]
    line = block.replace("\\\n", "")[block.index("mera-ru run") :]
    words = shlex.split(line.replace("http://127.0.0.1:8000/v1/chat/completions", server.url))
    at = words.index("--model_args") + 1
    words[at] = ",".join([words[at], *(f"{name}={value}" for name, value in model_args.items())])
    words[words.index("--tasks") + 1] = tasks
    environment = {"PYTHONPATH": str(REPOSITORY), "HF_HUB_OFFLINE": "1", "OPENAI_API_KEY": "sk-of-the-test"}
    return in_process(*words[1:], cwd=folder, **environment)


def written(folder: Path) -> dict[str, Any]:
    [file] = (folder / "results").rglob("results_*.json")
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


def test_the_documented_command_scores_what_the_server_says(tmp_path: Path, known: dict[str, Any]) -> None:
    docs = known["docs"]
    with ChatServer(lambda prompt: answer_of(docs[prompt]), meeting=8) as server:
        ended = command(tmp_path, server)
    assert ended.returncode == 0, ended.stderr
    assert len(server.requests) == len(docs) == 180
    for request in server.requests:
        assert [message["role"] for message in request["messages"]] == ["user"]
        assert {name: request[name] for name in ("model", "stop", "max_tokens", "temperature")} == {
            "model": "MODEL", "stop": ["<no stop string>"], "max_tokens": 1024, "temperature": 0,
        }  # fmt: skip
    results = written(tmp_path)
    for task in (*TASKS, "mera_ru_sample"):
        assert numbers(results, task) == pytest.approx(numbers(known["results"], task))
    assert 0 < numbers(results, "mera_ru_sample")["exact_match,strict-match"] < 1
    assert ended.stderr.count("API returned null content") == sum(doc["meta"]["id"] % 4 == 3 for doc in docs.values())
    # The key is sent to the server and appears nowhere else.
    assert {headers["Authorization"] for headers in server.headers} == {"Bearer sk-of-the-test"}
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in files if b"sk-of-the-test" in path.read_bytes()]
    assert "sk-of-the-test" not in ended.stdout + ended.stderr


def test_a_server_that_fails_for_good_ends_the_run_and_the_cache_keeps_the_rest(
    tmp_path: Path, known: dict[str, Any]
) -> None:
    docs = {prompt: doc for prompt, doc in known["docs"].items() if "question" in doc["inputs"]}
    fails = next(prompt for prompt, doc in docs.items() if doc["meta"]["id"] == 8)
    with ChatServer(lambda prompt: 500 if prompt == fails else answer_of(docs[prompt]) or "") as server:
        ended = command(tmp_path, server, "riddles_sample", num_concurrent=1, max_retries=2)
    assert ended.returncode != 0
    assert not list(tmp_path.rglob("results_*.json")), "a run that did not end reports no score"
    done = {request["messages"][-1]["content"] for request in server.requests} - {fails}
    assert done, ended.stderr
    assert (tmp_path / "responses_rank0.db").is_file()
    with ChatServer(lambda prompt: answer_of(docs[prompt]) or "") as server:
        ended = command(tmp_path, server, "riddles_sample", num_concurrent=1)
    assert ended.returncode == 0, ended.stderr
    assert {request["messages"][-1]["content"] for request in server.requests} == set(docs) - done
    assert numbers(written(tmp_path), "riddles_sample") == pytest.approx(numbers(known["results"], "riddles_sample"))
