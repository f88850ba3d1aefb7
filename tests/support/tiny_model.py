"""The demo's random GPT-NeoX with a chat template. It can be created and run in seconds."""

from __future__ import annotations

import sys
from pathlib import Path

from transformers import AutoTokenizer

from examples.demo_models import save_random

CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}</{{ message.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def save_tiny_model(folder: Path, chat_template: str = CHAT_TEMPLATE) -> Path:
    """Save the model. It never generates its end token, and its context is large enough for every prompt."""
    save_random(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = chat_template
    tokenizer.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    save_tiny_model(Path(sys.argv[1]))
