"""A wide encoder with few activations: the optimizer step is the peak."""

import time

import torch
from torch import nn


class Regressor(nn.Module):
    def __init__(self, width=1024, depth=6):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 16, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.value = nn.Linear(width, 1)

    def forward(self, x):
        return self.value(self.encoder(x).mean(1)).squeeze(-1)


def make_optimizer(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)


def train(model, optimizer, steps):
    begin = time.time()
    for step in range(steps):
        x = torch.randn(4, 32, 1024, device="cuda")
        target = torch.randn(4, device="cuda")
        loss = nn.functional.mse_loss(model(x), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step}: {loss.item():.4f} ({time.time() - begin:.1f} s)")


model = Regressor().cuda()
train(model, make_optimizer(model), steps=4)
print(f"peak_allocated={torch.cuda.max_memory_allocated()}")
