"""Training with del and empty_cache in each step, because somebody said so: reserved memory goes up
and down like a saw, and nothing else comes of it."""

import os
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 8192), nn.ReLU(), nn.Linear(8192, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(40):
    inputs = torch.randn(2048, 1024, device="cuda")
    outputs = model(inputs)
    loss = outputs.pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    del inputs, outputs, loss
    torch.cuda.empty_cache()
print("reserved", torch.cuda.memory_reserved())
sys.stdout.flush()
os._exit(0)
