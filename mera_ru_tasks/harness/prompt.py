"""Render the prompt of a document with the template `doc_to_text` in `yaml_tasks/_shared/base_yaml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.paths import read_task_file, shared_yaml

# The template replaces text in braces. Only text that matches `_NAME` is a placeholder, unlike the set `{А, Б}`.
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")


def placeholders(instruction: str) -> set[str]:
    """Return all texts in braces in an instruction."""
    return set(_BRACES.findall(instruction))


def unfilled(instruction: str, inputs: Mapping[str, str | None]) -> list[str]:
    """Return the sorted names in braces that no input fills. The model would see them unchanged."""
    names = placeholders(instruction)
    return sorted(name for name in names if _NAME.fullmatch(name) and not inputs.get(name))


def render(doc: Mapping[str, Any], prefix: str = "") -> str:
    """Render the prompt of a document as a run does, without shots or a chat template.

    Args:
        doc: a loaded document (see `data.load`).
        prefix: the end of the prompt, which the response continues (`gen_prefix`).
    """
    from lm_eval.utils import apply_template

    from mera_ru_tasks.harness.patches import keep_compiled_templates

    keep_compiled_templates()
    config = _base_config()
    text: str = apply_template(config["doc_to_text"], dict(doc))
    # Like lm-eval, put the delimiter between question and prefix unless the question ends in white space.
    delimiter = config["target_delimiter"] if prefix and not text[-1:].isspace() else ""
    return text + delimiter + prefix


@functools.cache
def _base_config() -> Mapping[str, Any]:
    return read_task_file(shared_yaml("base"))
