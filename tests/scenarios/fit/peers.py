"""What other estimators say of the models here: prints one line of JSON, in bytes.

Needs the packages of tests/requirements/peers.txt beside PyTorch; no GPU. The
peers look at a model's parameters only, never at a batch or an activation.
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

# Set, because DeepSpeed otherwise warns on standard output that it found no GPU.
os.environ.setdefault("DS_ACCELERATOR", "cpu")

import torch
from accelerate.commands.estimate import estimate_training_usage
from accelerate.utils import calculate_maximum_sizes
from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs
from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs
from torch._subclasses import FakeTensorMode

SCENARIOS = Path(__file__).resolve().parent.parent
sys.path += [str(SCENARIOS / folder) for folder in ("fit", "real")]

import gpt2
import lora
import lstm
import resnet50
import unet
import vit
from small import LanguageModel

MODELS = {
    "lm-small": lambda: LanguageModel(),
    "gpt2-124m": lambda: gpt2.GPT2(gpt2.Config(*gpt2.SIZES["124m"])),
    "gpt2-1.5b": lambda: gpt2.GPT2(gpt2.Config(*gpt2.SIZES["1.5b"])),
    "lora-1.5b": lambda: lora.build("1.5b", rank=16),
    "lstm": lstm.LanguageModel,
    "resnet50": resnet50.ResNet50,
    "unet": unet.UNet,
    "vit": vit.ViT,
}


def accelerate(model: torch.nn.Module) -> dict[str, int]:
    """The column "Training using Adam" of `accelerate estimate-memory`."""
    bytes, _ = calculate_maximum_sizes(model)
    return {
        kind: int(max(estimate_training_usage(bytes, kind).values()))
        for kind in ("float32", "float16")
    }


def deepspeed(model: torch.nn.Module) -> dict[str, int]:
    """The row without offloading, for one GPU.

    The public estimate_*_all_live functions count parameters by address, which
    parameters without memory do not have; the formulas behind take the counts.
    """
    total = sum(p.numel() for p in model.parameters())
    own = [sum(p.numel() for p in m.parameters(recurse=False)) for m in model.modules()]
    _, stage2 = estimate_zero2_model_states_mem_needs(total, cpu_offload=False)
    _, stage3, _ = estimate_zero3_model_states_mem_needs(
        total, max(own), cpu_offload=False, cpu_offload_params=False
    )
    return {"zero2": stage2, "zero3": stage3}


def estimates(model: torch.nn.Module) -> dict:
    parameters = list(model.parameters())
    return {
        "parameters": sum(p.numel() for p in parameters),
        "trained": sum(p.numel() for p in parameters if p.requires_grad),
        "parameter_bytes": sum(p.numel() * p.element_size() for p in parameters),
        "accelerate": accelerate(model),
        "deepspeed": deepspeed(model),
    }


def main() -> None:
    # Fake tensors have a shape and a device, a GPU too, but no memory behind them.
    with FakeTensorMode():
        models = {name: estimates(build()) for name, build in MODELS.items()}
    versions = {name: version(name) for name in ("accelerate", "deepspeed", "torch")}
    print(json.dumps({"versions": versions, "models": models}))


if __name__ == "__main__":
    main()
