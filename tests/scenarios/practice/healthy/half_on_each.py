"""The first half of the model is on one GPU, the second half on the other; what goes between them is
copied. Both are in use from the first batch to the last."""

import os
import sys

import torch
from torch import nn


def half(device: str) -> nn.Module:
    return nn.Sequential(*[nn.Linear(2048, 2048) for _ in range(6)]).to(device)


front, back = half("cuda:0"), half("cuda:1")
optimizer = torch.optim.SGD([*front.parameters(), *back.parameters()], lr=0.1)
for step in range(30):
    middle = front(torch.randn(512, 2048, device="cuda:0"))
    loss = back(middle.to("cuda:1")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
sys.stdout.flush()
os._exit(0)
