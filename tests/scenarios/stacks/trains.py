"""Trains for a few steps with a check of its data in the middle, and prints what the allocator counted."""

import json

import torch
from torch import nn

model = nn.Sequential(
    nn.Embedding(1000, 256), nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1000)
).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(8):
    tokens = torch.randint(0, 1000, (8, 64), device="cuda")
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 4:
        with torch.no_grad():
            model(tokens).argmax(-1)
torch.cuda.synchronize()
names = ["allocation.all.allocated", "allocated_bytes.all.peak", "reserved_bytes.all.peak"]
stats = torch.cuda.memory_stats()
print(json.dumps({name: stats[name] for name in names}))
