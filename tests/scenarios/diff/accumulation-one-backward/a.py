"""Gradient accumulation with mixed precision."""

import torch
import torch.nn.functional as F
from torch import nn

MICRO_BATCHES = 4


class ConvNext(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.GroupNorm(1, width)
        self.up = nn.Conv2d(width, 4 * width, 1)
        self.down = nn.Conv2d(4 * width, width, 1)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(self.depthwise(x)))))


class Net(nn.Module):
    def __init__(self, width=128, depth=4):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.stages = nn.Sequential(*(ConvNext(width) for _ in range(depth)))
        self.head = nn.Linear(width, 100)

    def forward(self, x):
        return self.head(self.stages(self.stem(x)).mean((2, 3)))


def loss_of(model, images, labels):
    with torch.autocast("cuda", dtype=torch.float16):
        return F.cross_entropy(model(images), labels) / MICRO_BATCHES


def main():
    model = Net().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for step in range(3):
        for _ in range(MICRO_BATCHES):
            images = torch.randn(8, 3, 128, 128, device="cuda")
            labels = torch.randint(100, (8,), device="cuda")
            loss = loss_of(model, images, labels)
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print("step", step)
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
