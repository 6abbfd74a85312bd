"""A loader with pin_memory: PyTorch keeps a handful of pinned buffers and uses them again for every
batch."""

import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.randn(1000, 3, 32, 32), torch.zeros(1000, dtype=torch.long))
loader = DataLoader(data, batch_size=50, pin_memory=True, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 256), nn.ReLU(), nn.Linear(256, 10)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(3):
    running = 0.0
    for images, labels in loader:
        images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    print("epoch", epoch, running)
sys.stdout.flush()
os._exit(0)
