"""Four thousand parameters of a few numbers each: every one takes 512 bytes, twenty times what it
needs. That is two MiB in all, and harms nothing."""

import os
import sys

import torch
from torch import nn

gates = nn.ParameterList([nn.Parameter(torch.ones(6, device="cuda")) for _ in range(4000)])
body = nn.Linear(4096, 4096).cuda()
optimizer = torch.optim.SGD([*gates.parameters(), *body.parameters()], lr=0.1)
for step in range(6):
    loss = body(torch.randn(64, 4096, device="cuda")).pow(2).mean()
    for gate in gates[step * 100 : step * 100 + 100]:
        loss = loss + gate.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("loss", loss.item())
sys.stdout.flush()
os._exit(0)
