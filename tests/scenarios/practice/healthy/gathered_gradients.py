"""Gradients are gathered over eight batches: each layer's gradient comes into being at the first of
them, the features of the eight are kept for a contrastive loss, and all goes at the eighth."""

import os
import sys

import torch
from torch import nn

GROUP = 8
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 512)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for group in range(12):
    features = []
    for _ in range(GROUP):
        features.append(model(torch.randn(256, 1024, device="cuda")))
    together = torch.cat(features)
    loss = (together @ together.T).logsumexp(1).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    features.clear()
    print("group", group, loss.item())
sys.stdout.flush()
os._exit(0)
