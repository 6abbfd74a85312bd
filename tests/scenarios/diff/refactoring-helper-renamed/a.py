"""Learns to act from recorded games: a policy and a value on one trunk."""

import torch
import torch.nn.functional as F
from torch import nn

ACTIONS = 512


class Agent(nn.Module):
    def __init__(self, width=1024):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(1024, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU()
        )
        self.policy = nn.Linear(width, ACTIONS)
        self.value = nn.Linear(width, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.policy(h), self.value(h).squeeze(-1)


def compute_loss(model, batch):
    states, actions, returns = batch
    logits, values = model(states)
    return F.cross_entropy(logits, actions) + 0.5 * F.mse_loss(values, returns)


def sample(size):
    states = torch.randn(size, 1024, device="cuda")
    actions = torch.randint(ACTIONS, (size,), device="cuda")
    returns = torch.randn(size, device="cuda")
    return states, actions, returns


def main():
    model = Agent().cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, foreach=False)
    for step in range(5):
        loss = compute_loss(model, sample(8192))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
