"""Trains Llama with its parameters in shards (FSDP2): torchrun --nproc-per-node 2 fsdp2.py --size 8b"""

import argparse
import os

import torch
import torch.distributed as dist
from models import llama, report, tokens
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--size", default="8b")
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = llama(arguments.size, device="meta", dtype=torch.float32)
model.gradient_checkpointing_enable()
mixed = MixedPrecisionPolicy(torch.bfloat16, torch.float32)
for layer in model.model.layers:
    fully_shard(layer, mp_policy=mixed)
fully_shard(model, mp_policy=mixed)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
report()
dist.destroy_process_group()
