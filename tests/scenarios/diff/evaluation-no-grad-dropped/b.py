"""Trains a text classifier and evaluates it on longer, larger batches."""

import sys

import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocab=10000, width=384, layers=6, classes=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 5, padding=2) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.classify = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.embed(ids)
        for conv, norm in zip(self.convs, self.norms):
            y = conv(norm(x).transpose(1, 2)).transpose(1, 2)
            x = x + torch.nn.functional.gelu(y)
        return self.classify(x.mean(1))


def train_epoch(model, optimizer):
    model.train()
    for _ in range(3):
        ids = torch.randint(10000, (16, 256)).cuda()
        labels = torch.randint(8, (16,)).cuda()
        loss = nn.functional.cross_entropy(model(ids), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def evaluate(model):
    """The share of correct answers."""
    model.eval()
    correct = 0
    for _ in range(3):
        ids = torch.randint(10000, (32, 512)).cuda()
        labels = torch.randint(8, (32,)).cuda()
        correct += (model(ids).argmax(1) == labels).sum().item()
    return correct / 96


def main():
    model = Classifier().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        print(epoch, train_epoch(model, optimizer), evaluate(model), file=sys.stdout)
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
