"""Fully convolutional segmentation. python a.py --batch N"""

import argparse

import torch
from torch import nn


def block(channels_in, channels_out, stride=1):
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)
    )


class Segmenter(nn.Module):
    def __init__(self, classes=21):
        super().__init__()
        self.down = nn.Sequential(block(3, 32, 2), block(32, 64, 2), block(64, 128, 2), block(128, 256), block(256, 256))
        self.classifier = nn.Conv2d(256, classes, 1)

    def forward(self, images):
        scores = self.classifier(self.down(images))
        return nn.functional.interpolate(scores, images.shape[2:], mode="bilinear", align_corners=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--steps", type=int, default=4)
    options = parser.parse_args()
    model = Segmenter().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for step in range(options.steps):
        images = torch.randn(options.batch, 3, 256, 256).cuda()
        labels = torch.randint(21, (options.batch, 256, 256)).cuda()
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
