"""Trains a small vision transformer; after the first step the memory in use is far higher, and
its owner fears a leak. True: AdamW makes its two states once, and then nothing more is added."""

import os
import sys

import torch
from torch import nn


def main():
    layer = nn.TransformerEncoderLayer(768, 12, 3072, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 6), nn.Linear(768, 100)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(14):
        patches = torch.randn(16, 196, 768).cuda()
        model(patches).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step, torch.cuda.memory_allocated() >> 20, "MiB", flush=True)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
