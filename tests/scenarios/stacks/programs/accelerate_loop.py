"""Trains Llama 1B in a loop with Accelerate: accelerate launch --num_processes 2 accelerate_loop.py"""

import argparse

import torch
from accelerate import Accelerator
from models import Samples, llama, report

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

accelerator = Accelerator(mixed_precision="bf16")
model = llama("1b", device=accelerator.device, dtype=torch.float32)
loader = torch.utils.data.DataLoader(Samples(arguments.length), batch_size=arguments.batch)
model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters(), lr=1e-5), loader)
for _, batch in zip(range(arguments.steps), loader):
    accelerator.backward(model(**batch).loss)
    optimizer.step()
    optimizer.zero_grad()
report()
accelerator.end_training()
