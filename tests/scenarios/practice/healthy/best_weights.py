"""The best weights so far are kept on the GPU: whenever a validation is better than all before, the
copy is replaced. Validation gets better ten times; there is never more than one copy (and a second
one for a moment)."""

import os
import sys

import torch
from torch import nn

model = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
best, scores = None, []
for step in range(100):
    loss = model(torch.randn(128, 2048, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scores.append(loss.item())
    if step % 10 == 9:
        best = {name: value.detach().clone() for name, value in model.state_dict().items()}
print("kept", len(best), "of", len(scores), "scores")
sys.stdout.flush()
os._exit(0)
