"""Step 1 of answer extraction: drop the model's reasoning."""

from __future__ import annotations

from mera_ru_tasks.scoring.normalize import lower
from mera_ru_tasks.scoring.strict import MARKER

# Names of the tags in which models reason: DeepSeek, Qwen and most others write <think>; the rest are instruction-tuned
# models of several makers, and Russian fine-tunes.
_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reflection", "analysis", "scratchpad", "seed:think")
_RUSSIAN_TAGS = ("рассуждение", "рассуждения", "размышление", "размышления", "мысли")
# Opening and closing marks: those tags; Mistral; Kimi; OpenThinker; Cohere; MedGemma.
_MARKS = (
    *((f"<{tag}>", f"</{tag}>") for tag in (*_TAGS, *_RUSSIAN_TAGS)),
    ("[think]", "[/think]"),
    ("◁think▷", "◁/think▷"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|start_thinking|>", "<|end_thinking|>"),
    ("<unused94>", "<unused95>"),
)
_OPENING = tuple(opening for opening, _ in _MARKS)
_CLOSING = tuple(closing for _, closing in _MARKS)
# A mark at a prompt's end, with the white space behind it.
_LONGEST = 40


def drop_reasoning(response: str) -> str:
    """Return the response without its reasoning.

    The text between the first opening mark and the last closing one is dropped. If the first mark is a closing one, the
    prompt held the opening one, and everything before the last closing mark is dropped. A block that is still open at
    the end leaves nothing. gpt-oss writes in channels; there the last `final` channel is returned.
    """
    text = _final_channel(response)
    if "<" not in text and "[" not in text and "◁" not in text:
        return text
    lowered = lower(text)
    end = max((at + len(mark) for mark in _CLOSING if (at := lowered.rfind(mark)) >= 0), default=0)
    if any(lowered.rfind(mark, end) >= 0 for mark in _OPENING):
        return ""
    if not end:
        return text
    first_closing = min(at for mark in _CLOSING if (at := lowered.find(mark)) >= 0)
    first_opening = min((at for mark in _OPENING if (at := lowered.find(mark, 0, first_closing)) >= 0), default=None)
    # An announcement before the reasoning, by the prompt or the model, still belongs to what follows it.
    return text[end:] if first_opening is None else f"{text[:first_opening]}\n{text[end:]}"


def opening_mark(prompt: object) -> str:
    """Return the mark with which a rendered prompt opens a reasoning block at its end; empty if it opens none.

    DeepSeek-R1's chat template ends in `<think>`. Put before the response, the mark hides an unfinished draft.
    """
    if not isinstance(prompt, str):
        return ""  # messages for a chat API, whose template is unknown
    end = lower(prompt[-_LONGEST:].rstrip().removesuffix(MARKER)).rstrip()
    return next((mark for mark in _OPENING if end.endswith(mark)), "")


_CHANNEL = "<|channel|>"


def _final_channel(text: str) -> str:
    if _CHANNEL in text:
        _, found, channel = text.rpartition(f"{_CHANNEL}final")
        _, _, message = channel.partition("<|message|>")
        ends = [at for end in ("<|end|>", "<|return|>", "<|start|>", _CHANNEL) if (at := message.find(end)) >= 0]
        return message[: min(ends, default=None)] if found else ""
    # The same without its special tokens: «analysisWe need …assistantfinalОтвет: Б».
    reasoning = text.removeprefix("analysis")
    if reasoning != text and ("assistantfinal" in reasoning or reasoning[:1].isalpha()):
        _, closed, message = reasoning.rpartition("assistantfinal")
        return message if closed else ""
    return text
