"""A recurrent cell is unrolled over 80 steps before backward: every step keeps what its gradient
needs, and backward lets go of all. Eight sequences."""

import os
import sys

import torch
from torch import nn

cell, read = nn.GRUCell(256, 512).cuda(), nn.Linear(512, 10).cuda()
optimizer = torch.optim.Adam([*cell.parameters(), *read.parameters()])
for sequence in range(8):
    state = torch.zeros(256, 512, device="cuda")
    loss = torch.zeros((), device="cuda")
    for _ in range(80):
        state = cell(torch.randn(256, 256, device="cuda"), state)
        loss = loss + read(state).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("sequence", sequence, loss.item())
sys.stdout.flush()
os._exit(0)
