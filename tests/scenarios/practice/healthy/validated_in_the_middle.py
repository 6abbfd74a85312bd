"""Every thirty steps the model is validated with a batch eight times as large as in training. Reserved
memory jumps at the first validation and stays up; each later one fits into it."""

import os
import sys

import torch
from torch import nn

layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
model = nn.TransformerEncoder(layer, 4).cuda()
optimizer = torch.optim.AdamW(model.parameters())


@torch.no_grad()
def validate() -> float:
    model.eval()
    total = sum(model(torch.randn(128, 128, 256, device="cuda")).pow(2).mean().item() for _ in range(3))
    model.train()
    return total


for step in range(90):
    loss = model(torch.randn(16, 128, 256, device="cuda")).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print("validation", validate())
sys.stdout.flush()
os._exit(0)
