"""Training that every tenth step keeps a copy of the weights on the GPU, to average them. True: what grows is
a copy of the model, once in ten steps; the steps between leave nothing."""

import copy
import json
import os
import sys

import torch
from torch import nn


def main() -> None:
    net = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    size = sum(p.nbytes for p in net.parameters())
    averaged = []
    for step in range(290):
        x = torch.randn(64, 1024).cuda()
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
        if step % 10 == 0:
            averaged.append(copy.deepcopy(net.state_dict()))
            print(json.dumps({"bytes": len(averaged) * size}), flush=True)
    print("copies:", len(averaged))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
