"""Trains ResNet-50 on images of 224 x 224: resnet50.py [--amp bf16] [--channels-last]."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def convolution(inputs, outputs, size, stride=1):
    return nn.Conv2d(inputs, outputs, size, stride, padding=size // 2, bias=False)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inputs: int, width: int, stride: int):
        super().__init__()
        outputs = width * self.expansion
        self.conv1 = convolution(inputs, width, 1)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = convolution(width, width, 3, stride)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = convolution(width, outputs, 1)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(
                convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        y += identity
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self, classes: int = 1000):
        super().__init__()
        self.stem = nn.Sequential(
            convolution(3, 64, 7, 2),
            nn.BatchNorm2d(64),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, padding=1),
        )
        self.inputs = 64
        self.stages = nn.Sequential(
            self.stage(64, 3, 1),
            self.stage(128, 4, 2),
            self.stage(256, 6, 2),
            self.stage(512, 3, 2),
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(self.inputs, classes)

    def stage(self, width: int, blocks: int, stride: int) -> nn.Sequential:
        made = []
        for index in range(blocks):
            made.append(Bottleneck(self.inputs, width, stride if index == 0 else 1))
            self.inputs = width * Bottleneck.expansion
        return nn.Sequential(*made)

    def forward(self, images):
        return self.head(self.pool(self.stages(self.stem(images))).flatten(1))


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--amp", nargs="?", const="bf16", choices=["bf16"])
    parser.add_argument("--channels-last", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    layout = torch.channels_last if args.channels_last else torch.contiguous_format
    with torch.device("cuda"):
        model = ResNet50()
    model = model.to(memory_format=layout)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)

    pictures = torch.empty(args.batch, 3, 224, 224).contiguous(memory_format=layout)
    answers = torch.randint(1000, (args.batch,))
    for step in range(args.steps):
        images = pictures.to("cuda", non_blocking=True)
        labels = answers.to("cuda", non_blocking=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=bool(args.amp)):
            loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    print(f"peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
