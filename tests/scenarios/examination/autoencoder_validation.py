"""Trains a convolutional autoencoder and validates after each epoch. The validation adds up its
loss, and nothing says that no gradients are wanted.
True: every validation batch's graph stays alive through the sum."""

import json

import torch
import torch.nn.functional as F
from torch import nn


def autoencoder(channels=48):
    return nn.Sequential(
        nn.Conv2d(3, channels, 5, stride=2, padding=2),
        nn.SiLU(),
        nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1),
        nn.SiLU(),
        nn.ConvTranspose2d(2 * channels, channels, 4, stride=2, padding=1),
        nn.SiLU(),
        nn.ConvTranspose2d(channels, 3, 4, stride=2, padding=1),
    )


def batches(count):
    for _ in range(count):
        yield torch.rand(12, 3, 192, 192).cuda()


def train(model, optimizer):
    for images in batches(6):
        optimizer.zero_grad()
        F.mse_loss(model(images), images).backward()
        optimizer.step()


def validate(model):
    model.eval()
    start = torch.cuda.memory_allocated()
    val_loss = 0.0
    for images in batches(80):
        print(json.dumps({"bytes": torch.cuda.memory_allocated() - start}), flush=True)
        loss = F.l1_loss(model(images), images)
        val_loss += loss
    return val_loss


def main():
    model = autoencoder().cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
    for epoch in range(2):
        train(model, optimizer)
        print("epoch", epoch, "validation", float(validate(model)))


if __name__ == "__main__":
    main()
