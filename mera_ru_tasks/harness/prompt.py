"""From a document to the text of its prompt. The template stands in yaml_tasks/_task_yaml; lm-eval renders it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.data.task_files import read_task_file
from mera_ru_tasks.paths import yaml_folder

# What the template fills, and of that what is meant as a name: `{А, Б}` in a prompt is a set.
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")


def placeholders(instruction: str) -> set[str]:
    """All that stands in braces in an instruction."""
    return set(_BRACES.findall(instruction))


def unfilled(instruction: str, inputs: Mapping[str, str | None]) -> list[str]:
    """The names in braces that no input fills: slips, nearly always, which the model would see as they stand."""
    names = placeholders(instruction)
    return sorted(name for name in names if _NAME.fullmatch(name) and not inputs.get(name))


def compile_templates_once() -> None:
    """Have lm-eval keep compiled templates.

    It compiles a template anew for every document and every shot, which for 1,609 documents takes longer than
    everything else before the first request. The same source always compiles to the same code.
    """
    from lm_eval.utils import env

    if not hasattr(env.compile, "cache_info"):
        env.compile = functools.lru_cache(maxsize=64)(env.compile)


def render(doc: Mapping[str, Any], prefix: str = "") -> str:
    """Render a document's prompt as a run does, without shots and chat template.

    Args:
        doc: a loaded document (see `data`).
        prefix: what the task prefills, for the response to go on from.
    """
    from lm_eval.utils import apply_template

    compile_templates_once()
    config = _task_config()
    text: str = apply_template(config["doc_to_text"], dict(doc))
    # lm-eval puts the delimiter between question and prefix where there is no white space already.
    delimiter = config["target_delimiter"] if prefix and not text[-1:].isspace() else ""
    return text + delimiter + prefix


@functools.cache
def _task_config() -> Mapping[str, Any]:
    return read_task_file(yaml_folder() / "_task_yaml")
