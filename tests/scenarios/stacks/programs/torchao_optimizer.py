"""Trains Llama 1B with an optimizer of torchao whose state has 8 bits (or fp8) per value."""

import argparse

from models import llama, report, tokens
from torchao.optim import AdamW8bit, AdamWFp8

parser = argparse.ArgumentParser()
parser.add_argument("--state", choices=["8bit", "fp8"], default="8bit")
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

model = llama("1b").train()
model.gradient_checkpointing_enable()
optimizer = {"8bit": AdamW8bit, "fp8": AdamWFp8}[arguments.state](model.parameters(), lr=1e-5)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
report()
