"""Data-parallel training on two GPUs. torchrun --nproc-per-node 2"""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


def build():
    layers = []
    for _ in range(6):
        layers += [nn.Linear(2048, 2048, bias=False), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(2048, 16))


def main():
    dist.init_process_group("nccl", timeout=timedelta(minutes=5))
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    network = build().cuda()
    model = DDP(network, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for step in range(5):
        x = torch.randn(4096, 2048, device="cuda")
        y = torch.randint(16, (4096,), device="cuda")
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.barrier()
    if rank == 0:
        print(f"peak_allocated={torch.cuda.max_memory_allocated()}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
