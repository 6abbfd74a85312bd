"""Contrastive training of an image encoder, with statistics of its features at the end."""

import torch
import torch.nn.functional as F
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 64, 4, 4), nn.GELU(), nn.Conv2d(64, 128, 2, 2), nn.GELU(), nn.Conv2d(128, 256, 3, 1, 1), nn.GELU()
        )
        self.project = nn.Linear(256, 128)

    def forward(self, images):
        maps = self.body(images)
        return maps, F.normalize(self.project(maps.mean((2, 3))), dim=1)


def info_nce(a, b, temperature=0.1):
    scores = a @ b.T / temperature
    return F.cross_entropy(scores, torch.arange(len(a), device=a.device))


def main():
    encoder = Encoder().cuda()
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    norms = []
    for step in range(6):
        first = torch.randn(64, 3, 128, 128).cuda()
        second = first + 0.1
        maps, z1 = encoder(first)
        _, z2 = encoder(second)
        loss = info_nce(z1, z2)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        norms.append(maps.detach().norm().item())
        print(step, loss.item())
    print("norm of the features:", sum(norms) / len(norms))
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
