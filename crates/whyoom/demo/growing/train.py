import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to("cuda")
predictions = []


def evaluate():
    batch = torch.randn(8192, 1024, device="cuda")
    predictions.append(model(batch))  # for a metric at the end


with torch.no_grad():
    for step in range(1000):
        evaluate()
