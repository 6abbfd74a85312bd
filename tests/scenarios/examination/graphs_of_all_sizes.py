"""Trains on graphs of very different size; the latest embeddings of each graph are kept as a
history. Somebody advised expandable segments, and so they are switched on, after the model is on
the GPU.
True: PyTorch read its settings when it made its first allocation. The line came too late."""

import os
import random

import torch
from torch import nn

FEATURES, HIDDEN = 128, 512


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(FEATURES, HIDDEN)
        self.message = nn.Linear(2 * HIDDEN, HIDDEN)
        self.leave = nn.Linear(HIDDEN, 40)

    def forward(self, nodes, source, target):
        x = torch.relu(self.enter(nodes))
        message = torch.relu(self.message(torch.cat((x[source], x[target]), dim=1)))
        x = x + torch.zeros_like(x).index_add_(0, target, message)
        return self.leave(x), x


def main():
    random.seed(11)
    model = Network().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"

    history = {}
    for step in range(70):
        count = int(random.lognormvariate(9.4, 0.6))
        nodes = torch.randn(count, FEATURES, device="cuda")
        source, target = torch.zeros(2, 5 * count, dtype=torch.long, device="cuda")
        scores, embedded = model(nodes, source, target)
        scores.logsumexp(dim=1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        history[step % 20] = embedded.detach()
    print("done,", torch.cuda.max_memory_reserved() >> 20, "MiB")


if __name__ == "__main__":
    main()
