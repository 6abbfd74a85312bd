"""An agent that keeps whole episodes on the GPU, and never drops one, on a GPU that somebody
else uses too. True: the episodes grow without end; the neighbour's share comes on top."""

import json

import torch
from torch import nn


@torch.no_grad()
def main():
    policy = nn.Sequential(nn.Linear(1024, 512), nn.Tanh(), nn.Linear(512, 18)).cuda()
    policy(torch.zeros(1, 1024, device="cuda"))
    start = torch.cuda.memory_allocated()
    episodes = []
    for _ in range(400):
        print(json.dumps({"bytes": torch.cuda.memory_allocated() - start}), flush=True)
        observations = torch.zeros(2500, 1024, device="cuda")
        actions = policy(observations).argmax(dim=1)
        episodes.append({"observations": observations, "actions": actions})
    print("episodes:", len(episodes))


if __name__ == "__main__":
    main()
