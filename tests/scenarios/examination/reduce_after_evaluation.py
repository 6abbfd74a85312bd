"""Two ranks evaluate, each for itself, and then add up what they found, by NCCL's first call.
True: NCCL asks the driver for its buffers, and PyTorch's cache holds unused what it lacks."""

import json
import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


@torch.no_grad()
def evaluate():
    model = nn.Sequential(nn.Linear(1024, 16_384), nn.GELU(), nn.Linear(16_384, 512)).cuda()
    return model(torch.zeros(12_000, 1024, device="cuda")).mean(dim=0)


def work(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1", RANK=str(rank), WORLD_SIZE="2")
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    found = evaluate()
    if rank == 0:
        held = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
        print(json.dumps({"bytes": held}), flush=True)
    dist.all_reduce(found)
    torch.cuda.synchronize()
    print("rank", rank, "has the sum", flush=True)
    os._exit(0)


def main():
    os.environ["MASTER_PORT"] = str(20_000 + os.getpid() % 20_000)
    ranks = [mp.get_context("fork").Process(target=work, args=(rank,)) for rank in range(2)]
    [rank.start() for rank in ranks]
    [rank.join() for rank in ranks]
    sys.exit(max(abs(rank.exitcode) for rank in ranks))


if __name__ == "__main__":
    main()
