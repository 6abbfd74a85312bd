"""Trains a diffusion U-Net and an average of its weights: unet.py [--size 64] [--amp bf16]."""

import argparse
import copy
import math

import torch
import torch.nn.functional as F
from torch import nn


def embed(times, width):
    places = torch.arange(width // 2, device=times.device) / (width // 2)
    rates = torch.exp(-math.log(10_000) * places)
    angles = times[:, None].float() * rates[None]
    return torch.cat((angles.sin(), angles.cos()), dim=-1)


class Residual(nn.Module):
    def __init__(self, inputs: int, outputs: int, time: int):
        super().__init__()
        self.norm1 = nn.GroupNorm(32, inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs)
        self.norm2 = nn.GroupNorm(32, outputs)
        self.dropout = nn.Dropout(0.1)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1)
        self.skip = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(time))[:, :, None, None]
        y = self.conv2(self.dropout(F.silu(self.norm2(y))))
        return y + self.skip(x)


class Attention(nn.Module):
    def __init__(self, width: int, head: int = 64):
        super().__init__()
        self.head = head
        self.norm = nn.GroupNorm(32, width)
        self.qkv = nn.Conv2d(width, 3 * width, 1)
        self.out = nn.Conv2d(width, width, 1)

    def forward(self, x, time):
        batch, width, height, breadth = x.shape
        qkv = self.qkv(self.norm(x)).view(batch, 3, width // self.head, self.head, -1)
        q, k, v = qkv.transpose(-1, -2).contiguous().unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(batch, width, height, breadth))


class UNet(nn.Module):
    def __init__(self, width=128, multiples=(1, 2, 3, 4), attended=(2, 3), blocks=2):
        super().__init__()
        self.width, time = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, time), nn.SiLU(), nn.Linear(time, time))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        channels, kept, last = width, [width], len(multiples) - 1
        for level, multiple in enumerate(multiples):
            for _ in range(blocks):
                self.down.append(self.step(channels, width * multiple, time, level in attended))
                channels = width * multiple
                kept.append(channels)
            if level != last:
                self.down.append(nn.ModuleList([nn.Conv2d(channels, channels, 3, 2, 1)]))
                kept.append(channels)
        self.middle = self.step(channels, channels, time, True)
        self.middle.append(Residual(channels, channels, time))
        for level, multiple in reversed(list(enumerate(multiples))):
            for index in range(blocks + 1):
                inputs = channels + kept.pop()
                step = self.step(inputs, width * multiple, time, level in attended)
                channels = width * multiple
                if level and index == blocks:
                    step.append(nn.Upsample(scale_factor=2))
                    step.append(nn.Conv2d(channels, channels, 3, padding=1))
                self.up.append(step)
        self.norm = nn.GroupNorm(32, width)
        self.last = nn.Conv2d(width, 3, 3, padding=1)

    @staticmethod
    def step(inputs, outputs, time, attended):
        parts = [Attention(outputs)] if attended else []
        return nn.ModuleList([Residual(inputs, outputs, time), *parts])

    @staticmethod
    def through(parts, x, time):
        for part in parts:
            x = part(x, time) if isinstance(part, (Residual, Attention)) else part(x)
        return x

    def forward(self, x, times):
        time = self.time(embed(times, self.width))
        x = self.first(x)
        kept = [x]
        for parts in self.down:
            x = self.through(parts, x, time)
            kept.append(x)
        x = self.through(self.middle, x, time)
        for parts in self.up:
            x = self.through(parts, torch.cat((x, kept.pop()), dim=1), time)
        return self.last(F.silu(self.norm(x)))


@torch.no_grad()
def follow(average: nn.Module, model: nn.Module, decay: float = 0.9999) -> None:
    for slow, fast in zip(average.parameters(), model.parameters()):
        slow.lerp_(fast, 1 - decay)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--size", type=int, default=64)
    parser.add_argument("--amp", nargs="?", const="bf16", choices=["bf16"])
    return parser.parse_args()


def main():
    args = arguments()
    with torch.device("cuda"):
        model = UNet()
        kept = torch.linspace(1, 0, 1000)
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    pictures = torch.empty(args.batch, 3, args.size, args.size)
    for step in range(args.steps):
        images = pictures.to("cuda", non_blocking=True)
        times = torch.randint(1000, (args.batch,)).to("cuda", non_blocking=True)
        noise = torch.randn_like(images)
        share = kept[times].view(-1, 1, 1, 1)
        noisy = share.sqrt() * images + (1 - share).sqrt() * noise
        with torch.autocast("cuda", torch.bfloat16, enabled=bool(args.amp)):
            loss = F.mse_loss(model(noisy, times).float(), noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        follow(average, model)
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    print(f"peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
