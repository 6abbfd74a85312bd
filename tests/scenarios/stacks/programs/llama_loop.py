"""Trains Llama 1B in bfloat16 with checkpointing and PyTorch's attention, in a plain loop."""

import argparse

import torch
from models import llama, report, tokens

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=1024)
parser.add_argument("--steps", type=int, default=4)
parser.add_argument("--liger", action="store_true", help="with Liger's kernels, whose loss never has all logits")
arguments = parser.parse_args()

if arguments.liger:
    from liger_kernel.transformers import apply_liger_kernel_to_llama

    apply_liger_kernel_to_llama()
model = llama("1b", attn_implementation="sdpa").train()
model.gradient_checkpointing_enable()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
report()
