"""A generator serves alone for a while; then an upscaler is loaded beside it and both work on. Memory
goes up once, by the upscaler's weights and what it needs."""

import torch
from torch import nn


def blocks(channels: int, count: int) -> nn.Module:
    parts = [nn.Conv2d(channels, channels, 3, padding=1) for _ in range(count)]
    return nn.Sequential(*parts).cuda().eval()


@torch.no_grad()
def main() -> None:
    generator, upscaler = blocks(128, 12), None
    for request in range(60):
        if request == 25:
            upscaler = blocks(512, 12)
        image = generator(torch.randn(1, 128, 64, 64, device="cuda"))
        if upscaler is not None:
            image = upscaler(image.repeat(1, 4, 1, 1))
    print("served", request + 1, tuple(image.shape))


main()
