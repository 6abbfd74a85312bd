"""Matrix factorization with a deterministic setting from the environment."""

import torch
from torch import nn


class Factors(nn.Module):
    def __init__(self, users=8192, items=4096, rank=512):
        super().__init__()
        self.users = nn.Linear(users, rank, bias=False)
        self.items = nn.Linear(rank, items, bias=False)

    def forward(self, ratings):
        return self.items(torch.tanh(self.users(ratings)))


def main():
    torch.use_deterministic_algorithms(True)
    model = Factors().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for step in range(5):
        ratings = torch.rand(2048, 8192, device="cuda")
        target = torch.rand(2048, 4096, device="cuda")
        loss = nn.functional.mse_loss(model(ratings), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
