import torch
from torch import nn

model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
losses = []


def train_step():
    batch = torch.randn(8192, 1024, device="cuda")
    loss = (model(batch) - batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())


for step in range(40):
    train_step()
