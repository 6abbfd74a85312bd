"""Learns to act from recorded games: a policy and a value on one trunk."""

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

ACTIONS = 512


class Batch(NamedTuple):
    """What was seen, what was done, and what came of it."""

    states: torch.Tensor
    actions: torch.Tensor
    returns: torch.Tensor


def sample(size: int) -> Batch:
    states = torch.randn(size, 1024, device="cuda")
    actions = torch.randint(ACTIONS, (size,), device="cuda")
    returns = torch.randn(size, device="cuda")
    return Batch(states, actions, returns)


def actor_critic_loss(model: nn.Module, batch: Batch) -> torch.Tensor:
    states, actions, returns = batch
    logits, values = model(states)
    return F.cross_entropy(logits, actions) + 0.5 * F.mse_loss(values, returns)


class Agent(nn.Module):
    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(1024, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Linear(width, width),
            nn.ReLU(),
        )
        self.policy = nn.Linear(width, ACTIONS)
        self.value = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = self.trunk(x)
        return self.policy(h), self.value(h).squeeze(-1)


def main() -> None:
    model = Agent().cuda()
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4, foreach=False)
    for step in range(5):
        loss = actor_critic_loss(model, sample(8192))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
