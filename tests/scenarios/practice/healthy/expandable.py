"""Expandable segments are on, sizes vary from batch to batch: one mapped range that is reused. It
ends with much reserved and little allocated."""

import os
import random
import sys

import torch
from torch import nn

random.seed(11)
model = nn.LSTM(256, 512, num_layers=2, batch_first=True).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(60):
    length = random.randrange(20, 400)
    output, _ = model(torch.randn(16, length, 256, device="cuda"))
    loss = output.pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("loss", loss.item())
sys.stdout.flush()
os._exit(0)
