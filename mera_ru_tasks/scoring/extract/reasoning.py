"""Step 1 of reading a response: what is left of it without the model's reasoning."""

from __future__ import annotations

from mera_ru_tasks.scoring.normalize import lower

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


def drop_reasoning(response: str) -> str:
    """The response without its reasoning.

    What stands between the first opening mark and the last closing one goes; where the first mark is a closing one (the
    prompt held the opening one), all before the last closing mark. Where a block is still open at the end there is no
    answer, and the result is empty. gpt-oss writes in channels; there it is the text of the last `final` channel.
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
    # A marker that the prompt or the model wrote before it began to think still belongs to what follows.
    return text[end:] if first_opening is None else f"{text[:first_opening]}\n{text[end:]}"


_CHANNEL = "<|channel|>"


def _final_channel(text: str) -> str:
    if _CHANNEL in text:
        _, found, channel = text.rpartition(f"{_CHANNEL}final")
        _, _, message = channel.partition("<|message|>")
        ends = [at for end in ("<|end|>", "<|return|>", "<|start|>", _CHANNEL) if (at := message.find(end)) >= 0]
        return message[: min(ends, default=None)] if found else ""
    # The same with its special tokens decoded away: «analysisWe need …assistantfinalОтвет: Б».
    reasoning = text.removeprefix("analysis")
    if reasoning != text and ("assistantfinal" in reasoning or reasoning[:1].isalpha()):
        _, closed, message = reasoning.rpartition("assistantfinal")
        return message if closed else ""
    return text
