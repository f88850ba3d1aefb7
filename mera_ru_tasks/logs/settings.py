"""The setting of a run: what its model was and how it was asked, as far as that can change what it writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.logs.lmeval import Run, TaskLog, as_mapping

# Arguments of a model that say where and how fast it runs, not what it is.
_HARMLESS_ARGUMENTS = frozenset(
    "batch_size max_batch_size device device_map parallelize num_concurrent max_retries timeout base_url "
    "tensor_parallel_size data_parallel_size gpu_memory_utilization trust_remote_code token api_key header".split()
)


# Where a task's `metadata`, which lm-eval writes into its results, hold a digest of the shots that its prompts had.
SHOTS = "mera_ru_shots"


def setting_of(run: Run) -> dict[str, Any]:
    """The setting of a run, by lm-eval's options (`--model_args NAME` for an argument of the model); None: not set."""
    arguments = run.config.get("model_args")
    pairs = _parse_arguments(arguments) if isinstance(arguments, str) else as_mapping(arguments)
    return {
        "--model": run.config.get("model"),
        **{f"--model_args {key}": str(value) for key, value in pairs.items() if key not in _HARMLESS_ARGUMENTS},
        "--gen_kwargs": run.config.get("gen_kwargs") or None,
        "--system_instruction": run.results.get("system_instruction") or None,
        "--apply_chat_template": run.results.get("chat_template") or None,
    }


def shots_of(log: TaskLog) -> str | None:
    """The digest of the shots before each document, empty for none; None where it is not known which they were."""
    if log.run.results_file is None:
        return None
    if not log.num_fewshot:
        return ""
    digest = as_mapping(log.config.get("metadata")).get(SHOTS)
    return digest if isinstance(digest, str) and digest else None


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two settings."""
    return [name for name in {**other, **one} if one.get(name) != other.get(name)]


def _parse_arguments(arguments: str) -> dict[str, str]:
    """Take lm-eval's `key=value,key=value` apart."""
    parts = (part.partition("=") for part in arguments.split(","))
    return {key.strip(): value for key, _, value in parts if key}
