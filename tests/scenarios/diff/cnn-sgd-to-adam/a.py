"""VGG-like network on small pictures. The classifier holds most of the parameters."""

import argparse

import torch
from torch import nn


def conv(channels_in, channels_out):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2))


class Vgg(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(conv(3, 64), conv(64, 128), conv(128, 256), conv(256, 512))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(512 * 16, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 100)
        )

    def forward(self, x):
        return self.classifier(self.features(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.01)
    options = parser.parse_args()

    device = torch.device("cuda")
    model = Vgg().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr)

    for epoch in range(options.epochs):
        running = 0.0
        for _ in range(3):
            x = torch.randn(64, 3, 64, 64, device=device)
            y = torch.randint(100, (64,), device=device)
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print("epoch", epoch, running)
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
