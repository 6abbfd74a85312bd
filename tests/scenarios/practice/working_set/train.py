"""Trains a small language model: train.py --batch N. True: its activations are what does not fit."""

import argparse
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn

import missing

VOCABULARY, WIDTH, LENGTH = 8000, 256, 256


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=8)
    batch = parser.parse_args().batch
    layer = nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True)
    parts = [nn.Embedding(VOCABULARY, WIDTH), nn.TransformerEncoder(layer, 4)]
    model = nn.Sequential(*parts, nn.Linear(WIDTH, VOCABULARY)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        tokens = torch.randint(VOCABULARY, (batch, LENGTH)).cuda()
        loss = F.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print("trained on batches of", batch)
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    with missing.told():
        main()
