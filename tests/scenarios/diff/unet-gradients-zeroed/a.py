"""A U-Net that removes noise from images."""

import torch
from torch import nn


def double(channels_in, channels_out):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, padding=1),
        nn.SiLU(),
        nn.Conv2d(channels_out, channels_out, 3, padding=1),
        nn.SiLU(),
    )


class UNet(nn.Module):
    def __init__(self, channels=(32, 64, 128, 1024)):
        super().__init__()
        self.down = nn.ModuleList()
        previous = 3
        for width in channels:
            self.down.append(double(previous, width))
            previous = width
        self.up = nn.ModuleList()
        for width in reversed(channels[:-1]):
            self.up.append(double(previous + width, width))
            previous = width
        self.last = nn.Conv2d(previous, 3, 1)

    def forward(self, x):
        skips = []
        for stage in self.down[:-1]:
            x = stage(x)
            skips.append(x)
            x = nn.functional.max_pool2d(x, 2)
        x = self.down[-1](x)
        for stage in self.up:
            skip = skips.pop()
            x = nn.functional.interpolate(x, skip.shape[2:])
            x = stage(torch.cat((x, skip), 1))
        return self.last(x)


def main():
    model = UNet().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-4)
    for step in range(4):
        clean = torch.randn(8, 3, 128, 128, device="cuda")
        noise = torch.randn_like(clean)
        optimizer.zero_grad()
        loss = (model(clean + noise) - noise).pow(2).mean()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
