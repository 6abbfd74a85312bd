"""Training with activations recomputed in backward: inside backward memory goes up once more for each
block, and comes down with it."""

import os
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

blocks = nn.ModuleList(
    nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(8)
).cuda()
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
for step in range(25):
    state = torch.randn(2048, 1024, device="cuda")
    for block in blocks:
        state = checkpoint(block, state, use_reentrant=False)
    loss = state.pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
sys.stdout.flush()
os._exit(0)
