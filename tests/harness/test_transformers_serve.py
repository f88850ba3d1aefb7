"""Use Hugging Face's OpenAI-compatible server as the model and as the judge, with a tiny random model."""

from __future__ import annotations

import itertools
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import in_process
from tests.support.documents import REPOSITORY
from tests.support.tiny_model import save_tiny_model

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Start the server, wait until it answers, and yield its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [Path(sys.executable).parent / "transformers", "serve", "--host", "127.0.0.1", "--port", str(port),
         "--device", "cpu"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    try:
        before = list(itertools.takewhile(lambda line: "Uvicorn running" not in line, process.stdout))
        assert process.poll() is None, "".join(before)
        threading.Thread(target=process.stdout.read, daemon=True).start()  # a full pipe would block the server
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait()


def mera_ru(folder: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return in_process(*arguments, cwd=folder, PYTHONPATH=str(REPOSITORY), HF_HUB_OFFLINE="1", **settings)


def test_a_run_and_a_judge_on_its_responses(tmp_path: Path, server: str, model: Path) -> None:
    ended = mera_ru(
        tmp_path, "run", "--model", "local-chat-completions", "--apply_chat_template", "--tasks", "riddles_sample",
        "--model_args", f"model={model},base_url={server}/chat/completions", "--limit", "2",
        "--gen_kwargs", "max_gen_toks=4", "--output_path", "results",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    [samples] = (tmp_path / "results").rglob("samples_*.jsonl")
    lines = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 4 and all(line["resps"][0][0] for line in lines)

    ended = mera_ru(
        tmp_path, "judge", "results", XDG_CACHE_HOME=str(tmp_path), LM_EVAL_JUDGE_API_BASE=server,
        LM_EVAL_JUDGE_MODEL=str(model), LM_EVAL_JUDGE_API_KEY="none", LM_EVAL_JUDGE_EXTRA='{"max_tokens": 4}',
    )  # fmt: skip
    # A random model gives no verdict, but the server answered every test question.
    assert ended.returncode == 1 and "never with a verdict" in ended.stderr and "HTTP" not in ended.stderr, ended.stderr
    assert not list((tmp_path / "results").rglob("judged_*"))
