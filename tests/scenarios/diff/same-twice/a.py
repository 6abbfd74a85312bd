"""An autoencoder of images with a codebook. Batches differ in size: the last one of an epoch is smaller."""

import random

import torch
import torch.nn.functional as F
from torch import nn


class Quantizer(nn.Module):
    def __init__(self, codes=1024, width=128):
        super().__init__()
        self.codebook = nn.Embedding(codes, width)

    def forward(self, x):
        flat = x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])
        nearest = torch.cdist(flat, self.codebook.weight).argmin(1)
        codes = self.codebook(nearest).view(x.shape[0], x.shape[2], x.shape[3], -1).permute(0, 3, 1, 2)
        return x + (codes - x).detach(), F.mse_loss(codes, x.detach())


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(3, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 128, 4, 2, 1))
        self.quantizer = Quantizer()
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 3, 4, 2, 1)
        )

    def forward(self, images):
        codes, penalty = self.quantizer(self.encoder(images))
        return self.decoder(codes), penalty


def main():
    model = Autoencoder().cuda()
    optimizer = torch.optim.Adam(model.parameters())
    for epoch in range(2):
        sizes = [32, 32, 20]
        print("seed", random.random())
        for size in sizes:
            images = torch.rand(size, 3, 128, 128).cuda()
            output, penalty = model(images)
            loss = F.mse_loss(output, images) + penalty
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            print(epoch, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
