"""Run a transformers model from an installed wheel: a random GPT-NeoX, the architecture of Pythia."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lm_eval
import pytest
import torch
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks import TaskManager

from examples.demo_models import CONTEXT
from mera_ru_tasks.paths import yaml_folder
from tests.support.environments import Environment, make_environment
from tests.support.scripted import numbers, run
from tests.support.tiny_model import save_tiny_model

pytestmark = pytest.mark.slow

RANKED = ["enantiosemy_sample_rank", "riddles_sample_rank", "russian_regions_sample_rank"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"))


def test_the_command_line_ends_in_table_and_logs(
    tmp_path_factory: pytest.TempPathFactory, wheel: Path, lean_lm_eval: Path, model_folder: Path, tmp_path: Path
) -> None:
    environment: Environment = make_environment(tmp_path_factory.mktemp("whole") / "venv", "whole", lean_lm_eval)
    environment.install(str(wheel))
    ended = environment.run(
        "-m", "lm_eval", "--model", "hf", "--model_args", f"pretrained={model_folder},dtype=float32",
        "--tasks", "mera_ru_sample_prefill", "--limit", "3", "--batch_size", "3", "--device", "cpu",
        "--num_fewshot", "1", "--log_samples", "--output_path", str(tmp_path),
        OMP_NUM_THREADS="1",
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    table = [line.split("|")[1].strip(" -") for line in ended.stdout.splitlines() if line.startswith("|")]
    assert {"mera_ru_sample_prefill", "enantiosemy_sample_prefill", "riddles_sample_prefill"} <= set(table)
    assert "overrides existing task" not in ended.stderr, "lm-eval has a task of the same name"
    logs = {path.name.rpartition("_")[0]: path for path in tmp_path.rglob("samples_*.jsonl")}
    assert logs.keys() == {f"samples_{name}_sample_prefill" for name in ("enantiosemy", "riddles", "russian_regions")}
    for path in logs.values():
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        assert [line["doc_id"] for line in lines] == [0, 1, 2] * 2
        prompts = [line["arguments"]["gen_args_0"]["arg_0"] for line in lines]
        assert all(prompt.endswith("\nОтвет:") for prompt in prompts)
        assert max(len(prompt.encode()) for prompt in prompts) < CONTEXT - 32, "lm-eval cuts longer prompts silently"
    [file] = tmp_path.rglob("results_*.json")
    groups = json.loads(file.read_text(encoding="utf-8"))["groups"]
    assert "exact_match,strict-match" in groups["mera_ru_sample_prefill"]


class Counting(HFLM):
    """The transformers backend, which counts the tokens that it generates.

    Attributes:
        generated: the number of tokens over all calls.
    """

    generated = 0

    def _model_generate(self, context: torch.Tensor, *arguments: Any, **settings: Any) -> torch.Tensor:
        output = super()._model_generate(context, *arguments, **settings)
        self.generated += output.shape[0] * (output.shape[1] - context.shape[1])
        return output


@pytest.fixture(scope="module")
def model(model_folder: Path) -> Iterator[Counting]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # with several threads, synchronization takes longer than this model
    yield Counting(pretrained=str(model_folder), dtype="float32", device="cpu", batch_size=1)
    torch.set_num_threads(threads)


def run_on(model: HFLM, task: str, **settings: Any) -> str:
    """Run a task on one document and return the prompt."""
    manager = TaskManager(include_defaults=False, include_path=str(yaml_folder()))
    results = lm_eval.simple_evaluate(model, tasks=[task], task_manager=manager, limit=1, bootstrap_iters=0, **settings)
    prompt: str = results["samples"][task][0]["arguments"][0][0]
    return prompt


def test_prefilled_tasks_cost_a_tenth_on_a_model_that_never_stops(model: Counting) -> None:
    spent = {}
    for task in ("riddles_sample", "riddles_sample_prefill"):
        model.generated = 0
        run_on(model, task)
        spent[task] = model.generated
    assert spent["riddles_sample"] == 1024
    assert 0 < spent["riddles_sample_prefill"] <= 32


def test_the_batch_size_changes_no_ranking(model_folder: Path) -> None:
    one, five = (
        run(None, RANKED, HFLM(str(model_folder), dtype="float32", device="cpu", batch_size=size), limit=3)
        for size in (1, 5)
    )
    for task in RANKED:
        assert numbers(one, task)
        assert numbers(five, task) == pytest.approx(numbers(one, task), abs=1e-4)


def test_a_chat_model_is_asked_in_turns(model: Counting) -> None:
    chat = {"apply_chat_template": True, "gen_kwargs": "max_gen_toks=4"}
    question = run_on(model, "riddles_sample", gen_kwargs="max_gen_toks=4")
    assert run_on(model, "riddles_sample", **chat) == f"<user>{question}</user><assistant>"
    assert run_on(model, "riddles_sample_prefill", **chat) == f"<user>{question}</user><assistant>Ответ:"
    *shot, last = run_on(model, "riddles_sample", num_fewshot=1, **chat).split("</assistant>")
    assert last == f"<user>{question}</user><assistant>"
    assert re.fullmatch(r"<user>.+</user><assistant>Ответ: [^<;\n]+", *shot, re.DOTALL)
