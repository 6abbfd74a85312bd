"""Trains a small transformer on every rank with DistributedDataParallel: torchrun ddp.py [--batch 8]."""

import argparse
import json
import os

import torch
import torch.distributed as dist
from gpt2 import GPT2, Config
from torch.nn.parallel import DistributedDataParallel


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8, help="sequences for each rank")
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--leave", action="store_true", help="end without destroying the group")
    return parser.parse_args()


def formula(model):
    """What every rank holds between steps, in bytes: nothing is sharded."""
    parameters = 4 * sum(p.numel() for p in model.parameters())
    # Gradients are kept a second time, in the buckets that are reduced.
    return {
        "parameters": parameters,
        "gradients": parameters,
        "buckets": parameters,
        "optimizer": 2 * parameters,
    }


def main():
    args = arguments()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")

    config = Config(layers=4, heads=8, width=512, context=args.length)
    with torch.device("cuda"):
        model = DistributedDataParallel(GPT2(config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)

    ids = torch.zeros(args.batch, args.length, dtype=torch.long, device="cuda")
    for _ in range(args.steps):
        optimizer.zero_grad()
        loss = model(ids, ids)
        loss.backward()
        optimizer.step()
        del loss
    torch.cuda.synchronize()

    parts = formula(model)
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({
        "rank": dist.get_rank(),
        "world": dist.get_world_size(),
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "persistent": torch.cuda.memory_allocated(),
        "formula": parts,
        "formula_sum": sum(parts.values()),
        "outside_allocator": total - free - torch.cuda.memory_reserved(),
    }), flush=True)
    if not args.leave:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
