"""Step 1 of reading a response: what is left of it without the model's reasoning."""

from __future__ import annotations

from mera_ru_tasks.reading.text import lower

# Opening and closing marks of reasoning: DeepSeek, Qwen and most others; some instruction-tuned models; Mistral; Kimi.
_REASONING = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
)


def drop_reasoning(response: str) -> str:
    """The response without its reasoning: what follows the last closing mark, whether the opening one is there or not.

    Where a block of reasoning is still open at the end there is no answer, and the result is empty. gpt-oss writes in
    channels; there it is the text of the last `final` channel.
    """
    text = _last_final_channel(response)
    lowered = lower(text)
    start = max((i + len(end) for _, end in _REASONING if (i := lowered.rfind(end)) >= 0), default=0)
    if any(lowered.find(begin, start) >= 0 for begin, _ in _REASONING):
        return ""
    return text[start:]


def _last_final_channel(text: str) -> str:
    if "<|channel|>" in text:
        _, found, channel = text.rpartition("<|channel|>final")
        _, _, message = channel.partition("<|message|>")
        ends = [i for end in ("<|end|>", "<|return|>", "<|start|>", "<|channel|>") if (i := message.find(end)) >= 0]
        return message[: min(ends, default=None)] if found else ""
    if text.startswith("analysis") and "assistantfinal" in text:  # the same, its special tokens decoded away
        return text.rpartition("assistantfinal")[2]
    return text
