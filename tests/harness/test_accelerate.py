"""Run several processes of the transformers backend with the documented command. Each generates its share."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import lm_eval
import pytest
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from mera_ru_tasks.paths import yaml_folder
from tests.support.documents import REPOSITORY, blocks, page
from tests.support.rows import Row, data_folder, riddle
from tests.support.scripted import numbers
from tests.support.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow

# lm-eval distributes documents only if each process has a GPU. Here, the processes use the CPU. lm-eval does not close
# the process group. On the CPU, gloo's threads sometimes abort a process while the interpreter shuts down, so the group
# is closed here.
AS_IF_ON_GPUS = """\
import os, runpy, torch
torch.cuda.device_count = lambda: int(os.environ["WORLD_SIZE"])
try:
    runpy.run_module("lm_eval", run_name="__main__")
finally:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
"""

# The tiny model's response depends on the last word of the prompt, so its responses differ.
QUESTIONS = [f"Загадка {word}" for word in ("вода", "снег", "город", "слово", "река")]
LIMIT = "max_gen_toks=4"


def with_references(references: list[str]) -> list[Row]:
    rows = [riddle(identity, reference) for identity, reference in enumerate(references)]
    for row, question in zip(rows, QUESTIONS, strict=True):
        row["inputs"]["question"] = question
    return rows


def what_the_model_writes(model: Path, root: Path) -> list[str]:
    """Return the responses of a single process in the order of the questions."""
    data_folder(root, "riddles_closed", with_references([""] * len(QUESTIONS)))
    manager = TaskManager(include_defaults=False, include_path=str(yaml_folder()), metadata={"mera_ru_data": str(root)})
    results = lm_eval.simple_evaluate(
        HFLM(pretrained=str(model), dtype="float32", device="cpu", batch_size=1),
        tasks=["riddles_closed"], task_manager=manager, gen_kwargs=LIMIT, apply_chat_template=True,
    )  # fmt: skip
    samples = {sample["doc_id"]: sample["resps"][0][0] for sample in results["samples"]["riddles_closed"]}
    return [samples[place] for place in range(len(QUESTIONS))]


def launch(folder: Path, model: Path, data: Path, lean_lm_eval: Path) -> subprocess.CompletedProcess[str]:
    """Call the documented command in `folder` for two processes, with this model and these data."""
    script = folder / "as_if_on_gpus.py"
    script.write_text(AS_IF_ON_GPUS)
    [block] = [block for block in blocks(page("servers"), "bash") if block.startswith("accelerate launch")]
    line = block.replace("\\\n", "").replace("--num_processes 4", "--num_processes 2")
    line = line.replace("-m lm_eval", str(script)).replace("MODEL,dtype=bfloat16", f"{model},dtype=float32")
    words = shlex.split(line)
    words[words.index("--tasks") + 1] = "riddles_closed"
    environment = {
        "PYTHONPATH": os.pathsep.join([str(lean_lm_eval), str(REPOSITORY)]), "MERA_RU_DATA": str(data),
        "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "accelerate.commands.accelerate_cli", *words[1:], "--gen_kwargs", LIMIT],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_the_documented_command_scores_as_one_process_does(tmp_path: Path, lean_lm_eval: Path) -> None:
    model = save_tiny_model(tmp_path / "model", chat_template="{{ messages[0].content }}")
    written = what_the_model_writes(model, tmp_path / "closed")
    assert len(set(written)) == len(written), "responses show to which document they belong"
    right = [0, 3, 4]
    references = [response if place in right else "иное" for place, response in enumerate(written)]
    data = data_folder(tmp_path / "answered", "riddles_closed", with_references(references))
    ended = launch(tmp_path, model, data, lean_lm_eval)
    assert ended.returncode == 0, ended.stderr
    for rank in range(2):
        assert f"Building contexts for riddles_closed on rank {rank}" in ended.stderr
    [file] = (tmp_path / "results").rglob("results_*.json")
    results = json.loads(file.read_text(encoding="utf-8"))
    share = pytest.approx(len(right) / len(written))
    scores = numbers(results, "riddles_closed")
    del scores["answered,flexible-extract"]  # the texts of a random model may retract an answer
    assert scores == {
        "exact_match,strict-match": share, "exact_match_plain,strict-match": share,
        "exact_match,flexible-extract": share,
    }  # fmt: skip
    [log] = (tmp_path / "results").rglob("samples_riddles_closed_*.jsonl")
    samples = [json.loads(sample) for sample in log.read_text(encoding="utf-8").splitlines()]
    scored = [(sample["filter"], sample["doc"]["meta"]["id"], sample["exact_match"]) for sample in samples]
    assert sorted(scored) == [
        (filter_name, place, float(place in right))
        for filter_name in ("flexible-extract", "strict-match")
        for place in range(len(written))
    ]
    assert {sample["doc"]["meta"]["id"]: sample["resps"][0][0] for sample in samples} == dict(enumerate(written))
