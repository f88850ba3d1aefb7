"""A random GPT-NeoX, the architecture of Pythia, small enough to be made and run in seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

END = "<|endoftext|>"
CONTEXT = 16384
CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message.role }}>{{ message.content }}</{{ message.role }}>{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def save_tiny_model(folder: Path) -> Path:
    """Save a model that never writes its end token, with room for every prompt, and a tokenizer of single bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: number for number, byte in enumerate([*alphabet, END])}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END)
    fast.chat_template = CHAT_TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPTNeoXConfig(
        vocab_size=len(alphabet) + 1, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=CONTEXT, bos_token_id=len(alphabet), eos_token_id=len(alphabet),
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    model.get_output_embeddings().weight.data[-1] = 0  # never the greatest: some other token's is above 0
    model.save_pretrained(folder)
    return folder


if __name__ == "__main__":
    save_tiny_model(Path(sys.argv[1]))
