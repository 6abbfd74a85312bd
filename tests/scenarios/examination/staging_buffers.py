"""Serves pictures of every size: each request is staged in page-locked memory, and the staged
copies are remembered by the request's number, to be sent again should somebody ask.
True: nothing ever takes them out; the device is well. PyTorch rounds each up to a power of two."""

import json
import random

import torch
from torch import nn

STAGED = {}


def stage(number, height, width):
    STAGED[number] = torch.zeros(3, height, width).pin_memory()
    return STAGED[number].cuda(non_blocking=True)


@torch.no_grad()
def main():
    random.seed(3)
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).cuda()
    for number in range(60):
        picture = stage(number, random.randrange(400, 1000), random.randrange(400, 1000))
        model(picture[None])
    torch.cuda.synchronize()
    held = torch.cuda.host_memory_stats()["allocated_bytes.current"]
    print(json.dumps({"bytes": held}), flush=True)
    print("served", number + 1, "requests; on the device:", torch.cuda.memory_allocated())


if __name__ == "__main__":
    main()
