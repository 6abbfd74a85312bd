"""A diffusion model of small images."""

import copy
import math

import torch
from torch import nn


class TimeBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(256, channels)

    def forward(self, x, t):
        h = torch.nn.functional.silu(self.conv1(x)) + self.time(t)[:, :, None, None]
        return x + self.conv2(torch.nn.functional.silu(h))


class Denoiser(nn.Module):
    def __init__(self, channels=512, depth=5):
        super().__init__()
        self.enter = nn.Conv2d(3, channels, 4, 4)
        self.blocks = nn.ModuleList(TimeBlock(channels) for _ in range(depth))
        self.leave = nn.ConvTranspose2d(channels, 3, 4, 4)

    def forward(self, x, t):
        h = self.enter(x)
        for block in self.blocks:
            h = block(h, t)
        return self.leave(h)


def embed_time(t):
    frequencies = torch.exp(-math.log(10000) * torch.arange(128, device=t.device) / 128)
    angles = t[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), 1)


@torch.no_grad()
def update(ema, model, decay=0.999):
    for kept, current in zip(ema.parameters(), model.parameters()):
        kept.lerp_(current, 1 - decay)


def main():
    device = "cuda"
    model = Denoiser().to(device)
    ema = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for step in range(4):
        x = torch.randn(16, 3, 64, 64, device=device)
        t = torch.rand(16, device=device)
        noise = torch.randn_like(x)
        loss = (model(x + noise * t[:, None, None, None], embed_time(t)) - noise).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update(ema, model)
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
