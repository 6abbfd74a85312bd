"""Runs Llama 70B in bfloat16 over all GPUs: whole layers on each (device_map)."""

import argparse

import torch
from accelerate import dispatch_model
from models import llama, report, tokens

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=2048)
parser.add_argument("--steps", type=int, default=3)
arguments = parser.parse_args()

model = llama("70b", device="meta").eval()
gpus = torch.cuda.device_count()
layers = len(model.model.layers)
places = {f"model.layers.{layer}": layer * gpus // layers for layer in range(layers)}
places |= {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.norm": gpus - 1, "lm_head": gpus - 1}
for name, device in places.items():
    model.get_submodule(name).to_empty(device=f"cuda:{device}")
model = dispatch_model(model, places)
with torch.inference_mode():
    for _ in range(arguments.steps):
        model(input_ids=tokens(arguments.batch, arguments.length))
report(peaks=[torch.cuda.max_memory_allocated(gpu) for gpu in range(gpus)])
