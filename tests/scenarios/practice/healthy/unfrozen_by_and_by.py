"""Fine-tuning that unfreezes one more layer every eight steps, from the top down: with each come its
gradient and its moments. Six stairs up, and level from then on."""

import os
import sys

import torch
from torch import nn

layers = nn.Sequential(*[nn.Linear(1536, 1536) for _ in range(7)]).cuda()
for layer in layers[:-1]:
    layer.requires_grad_(False)
optimizer = torch.optim.Adam(layers[-1].parameters(), lr=1e-4)
frozen = list(layers[:-1])
for step in range(90):
    if step % 8 == 7 and frozen:
        layer = frozen.pop().requires_grad_(True)
        optimizer.add_param_group({"params": layer.parameters()})
    loss = layers(torch.randn(64, 1536, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
sys.stdout.flush()
os._exit(0)
