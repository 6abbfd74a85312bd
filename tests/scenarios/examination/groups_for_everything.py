"""Two ranks that train with one group of processes for gradients, one for metrics, one for
checkpoints and one for evaluation, each with a communicator of NCCL's own.
True: NCCL's buffers take what the optimizer lacks; PyTorch's allocator never sees them."""

import argparse
import json
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def communicators(rank, count, before):
    groups = [dist.new_group(backend="nccl") for _ in range(count)]
    for group in groups:
        dist.all_reduce(torch.zeros(256, device="cuda"), group=group)
    torch.cuda.synchronize()
    taken = before - torch.cuda.mem_get_info()[0] - torch.cuda.memory_reserved()
    if rank == 0:
        print(json.dumps({"bytes": taken}), flush=True)
    return groups


def train(rank, count):
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(rank), WORLD_SIZE="2")
    torch.cuda.set_device(rank)
    torch.zeros(1, device="cuda")
    before = torch.cuda.mem_get_info()[0] + torch.cuda.memory_reserved()
    dist.init_process_group("nccl")
    groups = communicators(rank, count, before)
    model = nn.Sequential(*(nn.Linear(2560, 2560) for _ in range(12))).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        model(torch.randn(128, 2560, device="cuda")).mean().backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad, group=groups[0])
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    sys.stdout.flush()
    os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=4)
    count = parser.parse_args().groups
    os.environ["MASTER_PORT"] = str(20_000 + os.getpid() % 20_000)
    ranks = [mp.get_context("fork").Process(target=train, args=(rank, count)) for rank in range(2)]
    [rank.start() for rank in ranks]
    [rank.join() for rank in ranks]
    sys.exit(max(abs(rank.exitcode) for rank in ranks))


if __name__ == "__main__":
    main()
