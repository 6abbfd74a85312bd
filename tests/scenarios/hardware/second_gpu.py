"""Uses two GPUs, and fills the second one until memory runs out."""

import torch

first = torch.ones(1 << 20, device="cuda:0")
kept = []
while True:
    kept.append(torch.empty(1 << 30, dtype=torch.uint8, device="cuda:1"))
