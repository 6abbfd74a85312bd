"""Training of a convolutional network on large images: pyramid.py --batch N."""

import argparse
import os
import sys

import torch
from torch import nn

import missing


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=2)
    batch = parser.parse_args().batch
    layers = [nn.Sequential(nn.Conv2d(3 if n == 0 else 32, 32, 3, padding=1), nn.ReLU()) for n in range(6)]
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for _ in range(2):
        images, labels = torch.rand(batch, 3, 256, 256).cuda(), torch.randint(10, (batch,)).cuda()
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(images), labels).backward()
        optimizer.step()
    print("trained on batches of", batch)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    with missing.told():
        main()
