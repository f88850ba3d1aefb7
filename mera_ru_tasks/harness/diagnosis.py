"""What the responses of a run show about its settings, said once the model is done."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mera_ru_tasks.scoring.metrics import FLEXIBLE

if TYPE_CHECKING:
    from lm_eval.api.task import ConfigurableTask

# A response counts as cut if it has at least this share of the token limit: its text, split into tokens again, can have
# slightly fewer than the model generated.
_CUT = 0.98


def warnings(task: ConfigurableTask, tokenizer: Any = None) -> Iterator[str]:
    """Yield what a user should know before they trust the scores of a task.

    Args:
        task: the task, whose responses have passed through its filters.
        tokenizer: the model's; None to look for it by the name in the run's settings.
    """
    instances = task.instances
    answers = [instance.filtered_resps[FLEXIBLE] for instance in instances if FLEXIBLE in instance.filtered_resps]
    if not answers:
        return
    prefilled = bool(task.config.gen_prefix)
    limit = (task.config.generation_kwargs or {}).get("max_gen_toks")
    responses = [instance.resps[0] or "" for instance in instances]
    cut = None if prefilled else count_cut(responses, limit, tokenizer or _tokenizer(task.config.metadata or {}))
    if cut and isinstance(limit, int):
        yield (
            f"{task.task_name}: {cut} of {len(responses)} responses reach the limit of {limit} tokens, so they are "
            f"probably cut off. To raise it, add `--gen_kwargs max_gen_toks={2 * limit}`."
        )
    if not any(answers):
        yield f"{task.task_name}: no answer was found in any of the {len(answers)} responses. {_hint(prefilled, cut)}"


def _hint(prefilled: bool, cut: int | None) -> str:
    if prefilled:
        return "Look at the logged responses: the model may not continue the line `Ответ:`. Try `--num_fewshot 3`."
    if cut:
        return "Raise the token limit first. A base model needs the `_prefill` tasks."
    return (
        "A base model needs the `_prefill` tasks, a chat model `--apply_chat_template`. A reasoning model may need "
        "more tokens: `--gen_kwargs max_gen_toks=N`."
    )


def count_cut(responses: Sequence[str], limit: object, tokenizer: Any) -> int | None:
    """Count the responses that reach the token limit.

    Args:
        responses: the texts.
        limit: the largest number of new tokens.
        tokenizer: one of transformers.

    Returns:
        None if there is no tokenizer or no limit.
    """
    if tokenizer is None or not isinstance(limit, int):
        return None
    # Few responses are this long, so most need not be split into tokens: a token has at least one byte.
    long = [text for text in responses if len(text.encode("utf-8", "replace")) >= _CUT * limit]
    return sum(len(tokenizer.encode(text, add_special_tokens=False)) >= _CUT * limit for text in long)


def _tokenizer(metadata: Mapping[str, Any]) -> Any:
    """Load the tokenizer of the run's model, named by the model's arguments that lm-eval adds to a task's metadata."""
    name = metadata.get("tokenizer") or metadata.get("pretrained")
    if not isinstance(name, str) or "transformers" not in sys.modules:
        return None
    settings = ((key, metadata.get(key)) for key in ("revision", "subfolder", "gguf_file"))
    return _load_tokenizer(name, tuple((key, value) for key, value in settings if isinstance(value, str)))


@functools.lru_cache(maxsize=1)
def _load_tokenizer(name: str, settings: tuple[tuple[str, str], ...]) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name, local_files_only=True, **dict(settings))
    except Exception:  # whatever a tokenizer's files or code raise: the run is done, and only a count is missing
        return None
