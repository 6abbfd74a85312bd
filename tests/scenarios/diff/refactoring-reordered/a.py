"""Two towers for recommendations: users and items, trained with negatives from the batch."""

import torch
import torch.nn.functional as F
from torch import nn


def batch_of(size):
    users = torch.randint(50000, (size, 20), device="cuda")
    items = torch.randint(20000, (size, 10), device="cuda")
    return users, items


def contrast(users, items):
    scores = users @ items.T
    return F.cross_entropy(scores, torch.arange(len(users), device=users.device))


class Tower(nn.Module):
    def __init__(self, ids, width=256):
        super().__init__()
        self.embed = nn.EmbeddingBag(ids, width)
        self.layers = nn.Sequential(nn.Linear(width, 1024), nn.ReLU(), nn.Linear(1024, width))

    def forward(self, ids):
        return F.normalize(self.layers(self.embed(ids)), dim=1)


class TwoTowers(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = Tower(50000)
        self.items = Tower(20000)

    def forward(self, users, items):
        return self.users(users), self.items(items)


def step(model, optimizer):
    users, items = batch_of(4096)
    loss = contrast(*model(users, items))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    model = TwoTowers().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for number in range(5):
        print(number, step(model, optimizer))
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
