"""Render a document's prompt. The template is `doc_to_text` in `yaml_tasks/_shared/base_yaml`."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from typing import Any

from mera_ru_tasks.paths import read_task_file, shared_yaml

# Text in braces, which the template replaces, and the part that looks like a name: `{А, Б}` in a prompt is a set.
_BRACES = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"\s*[A-Za-z_]\w*\s*")


def placeholders(instruction: str) -> set[str]:
    """Return every text in braces in an instruction."""
    return set(_BRACES.findall(instruction))


def unfilled(instruction: str, inputs: Mapping[str, str | None]) -> list[str]:
    """Return the names in braces that no input fills, sorted; the model would see them unchanged."""
    names = placeholders(instruction)
    return sorted(name for name in names if _NAME.fullmatch(name) and not inputs.get(name))


def render(doc: Mapping[str, Any], prefix: str = "") -> str:
    """Render a document's prompt as a run does, without shots and chat template.

    Args:
        doc: a loaded document (see `data`).
        prefix: the end of the prompt that the response continues (`gen_prefix`).
    """
    from lm_eval.utils import apply_template

    from mera_ru_tasks.harness.patches import keep_compiled_templates

    keep_compiled_templates()
    config = _base_config()
    text: str = apply_template(config["doc_to_text"], dict(doc))
    # lm-eval puts the delimiter between question and prefix unless there is white space already.
    delimiter = config["target_delimiter"] if prefix and not text[-1:].isspace() else ""
    return text + delimiter + prefix


@functools.cache
def _base_config() -> Mapping[str, Any]:
    return read_task_file(shared_yaml("base"))
