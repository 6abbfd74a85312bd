"""Inference over many batches. True: each batch's predictions stay on the GPU, in a list."""

import json

import torch
from torch import nn

BATCHES = 250


@torch.no_grad()
def predict(model: nn.Module) -> list[torch.Tensor]:
    outputs = []
    for _ in range(BATCHES):
        batch = torch.randn(64, 256).cuda()
        y = model(batch)
        outputs.append(y)
        print(json.dumps({"bytes": len(outputs) * y.nbytes}), flush=True)
    return outputs


def main() -> None:
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 16384)).cuda().eval()
    print("predicted", len(predict(model)))


if __name__ == "__main__":
    main()
