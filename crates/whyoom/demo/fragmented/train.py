import random

import torch
from torch import nn

random.seed(2)
model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024)).to("cuda")
recent = []  # the newest texts, at most 400,000 tokens


def encode(length):
    text = torch.randn(length, 1024, device="cuda")
    recent.append(model(text))
    while sum(len(text) for text in recent) > 400_000:
        recent.pop(0)


with torch.no_grad():
    for step in range(300):
        encode(int(random.lognormvariate(9.8, 0.5)))  # each text has another length
