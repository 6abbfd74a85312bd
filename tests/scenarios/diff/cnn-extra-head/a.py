"""A residual network for images, trained on random ones."""

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels_in, channels, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.skip = nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.skip(x))


class Net(nn.Module):
    def __init__(self, classes=1000):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, 2, 1)
        self.stage1 = Residual(32, 64)
        self.stage2 = Residual(64, 128, 2)
        self.stage3 = Residual(128, 256, 2)
        self.stage4 = Residual(256, 512, 2)
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.stage2(self.stage1(F.relu(self.stem(x))))
        middle = self.stage3(x)
        x = self.stage4(middle)
        return self.fc(x.mean((2, 3)))


def batches(count, size=16):
    for _ in range(count):
        yield torch.randn(size, 3, 128, 128), torch.randint(1000, (size,))


def train():
    net = Net().cuda()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    for images, labels in batches(4):
        images, labels = images.cuda(), labels.cuda()
        optimizer.zero_grad()
        loss = F.cross_entropy(net(images), labels)
        loss.backward()
        optimizer.step()
        print(loss.item())


if __name__ == "__main__":
    train()
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")
