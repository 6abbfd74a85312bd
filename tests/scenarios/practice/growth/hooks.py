"""A forward hook collects a layer's activations for later study. True: they pile up on the GPU, batch by
batch, though nothing in the loop itself keeps anything."""

import json

import torch
from torch import nn

seen = []


def remember(module, inputs, output) -> None:
    seen.append(output)


@torch.no_grad()
def main() -> None:
    net = nn.Sequential(nn.Linear(512, 5120), nn.ReLU(), nn.Linear(5120, 10)).cuda()
    net[1].register_forward_hook(remember)
    for _ in range(110):
        net(torch.randn(512, 512).cuda())
        print(json.dumps({"bytes": len(seen) * seen[0].nbytes}), flush=True)
    print("activations", len(seen))


if __name__ == "__main__":
    main()
