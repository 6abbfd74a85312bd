"""Reinforcement learning: observations are kept on the GPU in a replay memory with room for 300 of
them. It fills during most of the run, then each new one takes the place of the oldest."""

import os
import sys

import torch
from torch import nn

ROOM, STEPS, BATCH = 300, 450, 8
policy = nn.Sequential(nn.Conv2d(4, 16, 8, 4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(6)).cuda()
policy(torch.zeros(1, 4, 84, 84, device="cuda"))
optimizer = torch.optim.RMSprop(policy.parameters())
memory: list[torch.Tensor] = []
for step in range(STEPS):
    observation = torch.rand(16, 4, 84, 84, device="cuda")
    if len(memory) < ROOM:
        memory.append(observation)
    else:
        memory[step % ROOM] = observation
    loss = policy(memory[(step * 7) % len(memory)][:BATCH]).max(1).values.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("kept", len(memory))
sys.stdout.flush()
os._exit(0)
