"""Trains a two-layer LSTM language model: lstm.py [--width 1024] [--length 128]."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


class LanguageModel(nn.Module):
    def __init__(self, vocabulary=33_278, width=1024, layers=2, dropout=0.5):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, tokens, state):
        x = self.dropout(self.embedding(tokens))
        x, state = self.lstm(x, state)
        return self.head(self.dropout(x)), state

    def start(self, batch: int):
        weight = self.head.weight
        shape = (self.lstm.num_layers, batch, self.lstm.hidden_size)
        return weight.new_zeros(shape), weight.new_zeros(shape)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--length", type=int, default=128)
    return parser.parse_args()


def main():
    args = arguments()
    vocabulary = 33_278
    with torch.device("cuda"):
        model = LanguageModel(vocabulary, args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    # Time first, as nn.LSTM expects it.
    text = torch.randint(vocabulary, (args.length + 1, args.batch))
    state = model.start(args.batch)
    for step in range(args.steps):
        tokens = text[:-1].to("cuda", non_blocking=True)
        targets = text[1:].to("cuda", non_blocking=True)
        # The state goes on from step to step; its history does not.
        state = tuple(part.detach() for part in state)
        optimizer.zero_grad()
        logits, state = model(tokens, state)
        loss = F.cross_entropy(logits.view(-1, vocabulary), targets.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}", flush=True)
    print(f"peak {torch.cuda.max_memory_allocated() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
