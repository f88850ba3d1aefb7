"""Return what a run was made with, from its results: the model, its arguments, the prompt and the shots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.logs.find import Run, TaskLog, as_mapping
from mera_ru_tasks.secrets import is_secret_name

# Model arguments that affect where and how fast it runs, but not its responses.
_HARMLESS_ARGUMENTS = frozenset(
    "batch_size max_batch_size device device_map parallelize num_concurrent max_retries timeout base_url "
    "tensor_parallel_size data_parallel_size gpu_memory_utilization trust_remote_code header".split()
)


# The key of the digest of a prompt's shots in a task's `metadata`, which lm-eval writes into its results.
SHOTS = "mera_ru_shots"


def setting_of(run: Run) -> dict[str, Any]:
    """Return a run's setting by lm-eval's options (`--model_args NAME` for an argument of the model); None: not set."""
    arguments = run.config.get("model_args")
    pairs = _parse_arguments(arguments) if isinstance(arguments, str) else as_mapping(arguments)
    kept = {key: value for key, value in pairs.items() if key not in _HARMLESS_ARGUMENTS and not is_secret_name(key)}
    return {
        "--model": run.config.get("model"),
        **{f"--model_args {key}": str(value) for key, value in kept.items()},
        "--gen_kwargs": run.config.get("gen_kwargs") or None,
        "--system_instruction": run.results.get("system_instruction") or None,
        "--apply_chat_template": run.results.get("chat_template") or None,
    }


def shots_of(log: TaskLog) -> str | None:
    """Return the digest of the shots in the prompts; empty if there are no shots, None if they are unknown."""
    if log.run.results_file is None:
        return None
    if not log.num_fewshot:
        return ""
    digest = as_mapping(log.config.get("metadata")).get(SHOTS)
    return digest if isinstance(digest, str) and digest else None


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that differ."""
    return [name for name in {**other, **one} if one.get(name) != other.get(name)]


def _parse_arguments(arguments: str) -> dict[str, str]:
    """Parse lm-eval's `key=value,key=value`."""
    parts = (part.partition("=") for part in arguments.split(","))
    return {key.strip(): value for key, _, value in parts if key}
