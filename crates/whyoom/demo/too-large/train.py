import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=16)
batch_size = parser.parse_args().batch
layers = [nn.TransformerEncoderLayer(512, nhead=8, batch_first=True) for _ in range(6)]
model = nn.Sequential(*layers).to("cuda")
optimizer = torch.optim.AdamW(model.parameters())


def train_step():
    batch = torch.randn(batch_size, 128, 512, device="cuda")
    loss = (model(batch) - batch).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


for step in range(20):
    train_step()
