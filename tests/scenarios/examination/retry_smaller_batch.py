"""Looks for the batch that fits: a batch that is too large is tried again at half its size.
True: the second try is made inside the except block, where the error's traceback still holds the
frames of the first, and with them all its activations. At half the size it would fit alone."""

import argparse
import json
import os
import sys

import torch
from torch import nn

HELD = {"before": 0}


def network(width=2048, layers=10):
    blocks = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(layers)]
    return nn.Sequential(*blocks, nn.Linear(width, 1000))


def step(model, optimizer, size):
    held = torch.cuda.memory_allocated() - HELD["before"]
    print(json.dumps({"bytes": held, "size": size}), flush=True)
    images = torch.randn(size, 2048, device="cuda")
    activations = [images]
    for block in model:
        activations.append(block(activations[-1]))
    loss = activations[-1].logsumexp(dim=1).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=12288)
    size = parser.parse_args().batch
    model = network().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        step(model, optimizer, size // 2)  # a warm-up, at a size that is known to fit
    HELD["before"] = torch.cuda.memory_allocated()
    for _ in range(3):
        try:
            step(model, optimizer, size)
        except torch.OutOfMemoryError:
            print("too large, trying half of", size)
            step(model, optimizer, size // 2)
    print("three steps done")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
