"""A model whose answers are a function, and lm-eval runs with this model that write the same logs as a user's run."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import lm_eval
import torch.utils.collect_env
from lm_eval.api.model import LM
from lm_eval.loggers import EvaluationTracker
from lm_eval.tasks import TaskManager

from mera_ru_tasks.data.benchmarks import AnswerFormat
from mera_ru_tasks.paths import yaml_folder

# lm-eval describes the machine again in every run, which takes longer than a run in these tests.
torch.utils.collect_env.get_pretty_env_info = functools.cache(torch.utils.collect_env.get_pretty_env_info)

Answer = Callable[[Mapping[str, Any], str], str | None]
Value = Callable[[Mapping[str, Any], str, str], float]


class ScriptedModel(LM):
    """An lm-eval model with the response `answer(doc, prompt)`. None is an empty message of an API.

    Attributes:
        prompts: the received prompts, in order.
    """

    def __init__(self, answer: Answer) -> None:
        super().__init__()
        self.answer = answer
        self.prompts: list[Any] = []

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Any]:
        self.prompts += [request.args[0] for request in requests]
        return [self.answer(request.doc, request.args[0]) for request in requests]

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Any]:
        raise AssertionError("these tasks only generate")

    loglikelihood_rolling = loglikelihood

    @property
    def tokenizer_name(self) -> str:
        return "scripted"

    def apply_chat_template(self, chat_history: Sequence[Mapping[str, str]], add_generation_prompt: bool = True) -> str:
        turns = "".join(f"<{message['role']}>{message['content']}" for message in chat_history)
        return turns + "<assistant>" * add_generation_prompt

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "scripted chat template"


class RankingModel(LM):
    """An lm-eval model with the log-likelihoods `value(doc, context, continuation)`.

    Attributes:
        requests: the received contexts and continuations, in order.
    """

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value
        self.requests: list[tuple[str, str]] = []

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        self.requests += [request.args for request in requests]
        return [(self.value(request.doc, *request.args), False) for request in requests]

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Any]:
        raise AssertionError("these tasks rank options")

    generate_until = loglikelihood_rolling
    tokenizer_name = ScriptedModel.tokenizer_name
    apply_chat_template = ScriptedModel.apply_chat_template
    chat_template = ScriptedModel.chat_template


def reference(doc: Mapping[str, Any], prompt: str = "") -> str:
    """Return an answer in the format that the prompts require, which is correct if the document has a reference."""
    is_list = AnswerFormat.of(doc).is_list
    answer = doc["outputs"].split(";")[0] if is_list else doc["outputs"]
    return f"Ответ: {answer or 'А'}"


def run(
    output: Path | None,
    tasks: Sequence[str],
    answer: Answer | LM = reference,
    *,
    data: Path | None = None,
    model: str = "org/scripted",
    task_folders: Sequence[Path] = (),
    **settings: Any,
) -> dict[str, Any]:
    """Run tasks as `lm_eval --log_samples --output_path OUTPUT` does, without its slow scan of all other tasks.

    Args:
        output: the folder for lm-eval's logs; None for no logs.
        tasks: the names of tasks or groups.
        answer: a function that returns the response, or a model.
        data: the data folder, as in MERA_RU_DATA.
        model: the model's name.
        task_folders: additional folders with task YAML files.
        settings: additional arguments of `simple_evaluate` (`limit`, `num_fewshot`, `predict_only`, `gen_kwargs`, …).

    Returns:
        lm-eval's results, with `samples`.
    """
    tracker = EvaluationTracker(output_path=str(output)) if output else None
    manager = TaskManager(
        include_defaults=False,
        include_path=[str(yaml_folder()), *map(str, task_folders)],
        metadata={"mera_ru_data": str(data)} if data else {},
    )
    results: dict[str, Any] = lm_eval.simple_evaluate(
        answer if isinstance(answer, LM) else ScriptedModel(answer),
        model_args=f"pretrained={model}",
        tasks=list(tasks),
        task_manager=manager,
        evaluation_tracker=tracker,
        bootstrap_iters=0,
        **settings,
    )
    if tracker:
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        for task in results["configs"]:
            tracker.save_results_samples(task_name=task, samples=samples[task])
        results["samples"] = samples
    return results


def numbers(results: Mapping[str, Any], task: str) -> dict[str, float]:
    """Return the scores of a task or group in the results table, without standard errors."""
    return {key: value for key, value in results["results"][task].items() if "," in key and "_stderr" not in key}
