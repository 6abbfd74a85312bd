"""Trains a small transformer that torch.compile compiled; with a mode, inference too (CUDA graphs)."""

import argparse

import torch
from models import report
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--mode", default="default")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--width", type=int, default=1024)
parser.add_argument("--steps", type=int, default=6)
arguments = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


with torch.device("cuda"):
    model = nn.Sequential(*(Block(arguments.width) for _ in range(4)))
step = torch.compile(model, mode=arguments.mode)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(arguments.steps):
    x = torch.randn(arguments.batch, arguments.length, arguments.width, device="cuda")
    step(x).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
report()
