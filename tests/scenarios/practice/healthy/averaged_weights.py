"""After twenty steps of warm-up a moving average of the weights is begun: a second copy of the model,
made once and updated in place."""

import copy
import os
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Embedding(20000, 1024), nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
average = None
for step in range(60):
    tokens = torch.randint(20000, (8, 64)).cuda()
    loss = model(tokens).pow(2).mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step == 20:
        average = copy.deepcopy(model).requires_grad_(False)
    elif average is not None:
        with torch.no_grad():
            for kept, new in zip(average.parameters(), model.parameters()):
                kept.lerp_(new, 0.01)
print("done", loss.item())
sys.stdout.flush()
os._exit(0)
