"""Two towers for recommendations: users and items, trained with negatives from the batch.

The models come first, then the data, then the training. Every tower ends in a unit vector, so that a score is a
cosine. A batch's own items are the negatives of its users.
"""

import torch
import torch.nn.functional as F
from torch import nn


class TwoTowers(nn.Module):
    """A tower for each side."""

    def __init__(self):
        super().__init__()
        self.users = Tower(50000)
        self.items = Tower(20000)

    def forward(self, users, items):
        return self.users(users), self.items(items)


class Tower(nn.Module):
    """The mean of the ids' vectors, and two layers."""

    def __init__(self, ids, width=256):
        super().__init__()
        self.embed = nn.EmbeddingBag(ids, width)
        self.layers = nn.Sequential(
            nn.Linear(width, 1024),
            nn.ReLU(),
            nn.Linear(1024, width),
        )

    def forward(self, ids):
        return F.normalize(
            self.layers(self.embed(ids)),
            dim=1,
        )


def main():
    model = TwoTowers().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for number in range(5):
        print(number, step(model, optimizer))
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


def step(model, optimizer):
    # One batch, one step.
    users, items = batch_of(4096)
    loss = contrast(*model(users, items))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def contrast(users, items):
    scores = users @ items.T
    return F.cross_entropy(scores, torch.arange(len(users), device=users.device))


def batch_of(size):
    # Twenty things a user did, ten words of an item.
    users = torch.randint(50000, (size, 20), device="cuda")
    items = torch.randint(20000, (size, 10), device="cuda")
    return users, items


if __name__ == "__main__":
    main()
