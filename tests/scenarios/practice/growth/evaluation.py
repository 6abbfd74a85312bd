"""An evaluation without no_grad() whose scores are collected. True: each score keeps the graph that
made it, and so the hidden activations."""

import json

import torch
from torch import nn


def main() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(512, 8192), nn.Sigmoid(), nn.Linear(8192, 1)).cuda()
    scores, first = [], None
    for number in range(140):
        inputs = torch.randn(256, 512).cuda()
        score = model(inputs).mean()
        scores.append(score)
        first = first or torch.cuda.memory_allocated()
        kept = torch.cuda.memory_allocated() - first
        print(json.dumps({"bytes": kept * (number + 1) // max(number, 1)}), flush=True)
    print("mean score", float(torch.stack(scores).mean()))


if __name__ == "__main__":
    main()
