"""The predictions of each epoch are collected on the GPU for a score over all of them, and dropped
when the score is known. They fit with room to spare."""

import torch
from torch import nn


@torch.no_grad()
def score(model: nn.Module) -> float:
    predictions = []
    for _ in range(40):
        predictions.append(model(torch.randn(64, 512, device="cuda")))
    return torch.cat(predictions).std().item()


model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 30000)).cuda().eval()
for epoch in range(6):
    print("epoch", epoch, score(model))
