"""Trains Llama 1B with DistributedDataParallel: torchrun --nproc-per-node 2 ddp.py"""

import argparse
import os

import torch
import torch.distributed as dist
from models import llama, report, tokens
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = DistributedDataParallel(llama("1b"))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
report()
dist.destroy_process_group()
