"""Trains an encoder of documents, all cut to one length."""

import torch
from torch import nn

LENGTHS = (560, 560, 560, 560, 560)


class Reader(nn.Module):
    def __init__(self, width=768, layers=4):
        super().__init__()
        self.embed = nn.Embedding(20000, width)
        layer = nn.TransformerEncoderLayer(width, 12, 4 * width, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, ids):
        return self.layers(self.embed(ids))


def main():
    model = Reader().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for length in LENGTHS:
        ids = torch.randint(20000, (12, length)).cuda()
        loss = model(ids).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(length, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
