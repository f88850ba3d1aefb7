"""Read the settings of a run from its results: the model, the model's arguments, the prompt and the shots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.logs.find import Run, TaskLog, as_mapping
from mera_ru_tasks.secrets import comparable_settings

# Model arguments that affect where and how fast the model runs, but not its responses.
_HARMLESS_ARGUMENTS = frozenset(
    "batch_size max_batch_size device device_map parallelize num_concurrent max_retries timeout base_url "
    "tensor_parallel_size data_parallel_size gpu_memory_utilization trust_remote_code header".split()
)


# The key in a task's `metadata` for the digest of the shots. lm-eval copies the metadata to its results file.
SHOTS = "mera_ru_shots"


def setting_of(run: Run) -> dict[str, Any]:
    """Return the settings that affect the responses of a run, by lm-eval option.

    The key of a model argument is `--model_args NAME`. The value of an option that is not set is None.
    """
    arguments = comparable_settings(parse_arguments(run.config.get("model_args")))
    kept = {name: str(value) for name, value in arguments.items() if name not in _HARMLESS_ARGUMENTS}
    return {
        "--model": run.config.get("model"),
        **{f"--model_args {name}": value for name, value in kept.items()},
        "--gen_kwargs": comparable_settings(parse_arguments(run.config.get("gen_kwargs"))) or None,
        "--system_instruction": run.results.get("system_instruction") or None,
        "--apply_chat_template": run.results.get("chat_template") or None,
    }


def shots_of(log: TaskLog) -> str | None:
    """Return the digest of the shots in the prompts: empty without shots, None if the shots are unknown."""
    if log.run.results_file is None:
        return None
    if not log.num_fewshot:
        return ""
    digest = as_mapping(log.config.get("metadata")).get(SHOTS)
    return digest if isinstance(digest, str) and digest else None


def differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the names of the settings that differ."""
    return [name for name in {**other, **one} if one.get(name) != other.get(name)]


def parse_arguments(arguments: Any) -> dict[str, Any]:
    """Return model arguments or generation settings by name.

    lm-eval stores them as a mapping or as a string such as `key=value,key=value`.
    """
    if not isinstance(arguments, str):
        return dict(as_mapping(arguments))
    found: dict[str, Any] = {}
    # A comma that is not followed by `key=` is part of the value, for example in the JSON of a header.
    for part in _ARGUMENT.split(arguments):
        name, equals, value = part.partition("=")
        if equals and _ARGUMENT_NAME.fullmatch(name):
            found[name.strip()] = value
    return found


_ARGUMENT_NAME = re.compile(r"\s*[\w.-]{1,64}\s*")
_ARGUMENT = re.compile(r",(?=\s*[\w.-]{1,64}\s*=)")
