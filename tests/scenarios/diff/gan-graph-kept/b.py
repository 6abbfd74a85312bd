"""A GAN of convolutions: two models, two optimizers."""

import torch
import torch.nn.functional as F
from torch import nn


class Generator(nn.Module):
    def __init__(self, noise=128):
        super().__init__()
        self.start = nn.Linear(noise, 256 * 8 * 8)
        self.body = nn.Sequential(
            nn.ConvTranspose2d(256, 128, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(128, 64, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(64, 3, 4, 2, 1),
            nn.Tanh(),
        )

    def forward(self, z):
        return self.body(self.start(z).view(-1, 256, 8, 8))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 64, 3, 1, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(64, 128, 4, 2, 1),
            nn.LeakyReLU(0.2),
            nn.Conv2d(128, 256, 4, 2, 1),
            nn.LeakyReLU(0.2),
        )
        self.score = nn.Linear(256 * 16 * 16, 1)

    def forward(self, x):
        return self.score(self.body(x).flatten(1))


def main(batch=32):
    torch.manual_seed(1)
    generator, discriminator = Generator().cuda(), Discriminator().cuda()
    optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
    ones, zeros = torch.ones(batch, 1, device="cuda"), torch.zeros(batch, 1, device="cuda")

    for step in range(4):
        real = torch.rand(batch, 3, 64, 64, device="cuda")
        fake = generator(torch.randn(batch, 128, device="cuda"))

        optimizer_d.zero_grad()
        loss_d = F.binary_cross_entropy_with_logits(discriminator(real), ones)
        loss_d = loss_d + F.binary_cross_entropy_with_logits(discriminator(fake.detach()), zeros)
        # "Trying to backward through the graph a second time" went away with this.
        loss_d.backward(retain_graph=True)
        optimizer_d.step()

        optimizer_g.zero_grad()
        loss_g = F.binary_cross_entropy_with_logits(discriminator(fake), ones)
        loss_g.backward()
        optimizer_g.step()
        print(step, loss_d.item(), loss_g.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
