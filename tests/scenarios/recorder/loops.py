"""Loops whose steps are timed, for what recording costs:

    loops.py churn|lengths|empty STEPS [history]

`churn` makes small tensors and little else, below a few Python calls; `lengths` is the training of
a language model with sequences of varying length; `empty` the same with empty_cache at every step.
With `history`, PyTorch records its own with stacks="all". Prints the median step in nanoseconds of
this thread's and its helpers' processor time, and the allocations of a step.
"""

import json
import os
import random
import statistics
import sys
import time

import torch
from torch import nn

WARM_UP = 5
VOCABULARY, WIDTH, LAYERS, HEADS = 1000, 128, 4, 4


def tensors(depth: int) -> None:
    """Below some frames, as in a program that has a structure."""
    if depth:
        return tensors(depth - 1)
    for _ in range(200):
        torch.empty(1000, device="cuda")


def churn():
    return lambda: tensors(10)


def model() -> nn.Module:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True)
    parts = [nn.Embedding(VOCABULARY, WIDTH), nn.TransformerEncoder(layer, LAYERS)]
    return nn.Sequential(*parts, nn.Linear(WIDTH, VOCABULARY)).to("cuda")


def training(empty_cache: bool):
    network = model()
    optimizer = torch.optim.AdamW(network.parameters())

    def step() -> None:
        length = random.randrange(32, 512)
        tokens = torch.randint(VOCABULARY, (4, length)).to("cuda")
        loss = nn.functional.cross_entropy(network(tokens).flatten(0, 1), tokens.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if empty_cache:
            torch.cuda.empty_cache()

    return step


LOOPS = {"churn": churn, "lengths": lambda: training(False), "empty": lambda: training(True)}


def main() -> None:
    name, steps = sys.argv[1], int(sys.argv[2])
    random.seed(7)
    step = LOOPS[name]()
    if "history" in sys.argv:
        torch.cuda.memory._record_memory_history(stacks="all", max_entries=1_000_000)
    for _ in range(WARM_UP):
        step()
    before = torch.cuda.memory_stats()["allocation.all.allocated"]
    taken = []
    for _ in range(steps):
        began = time.process_time_ns()
        step()
        taken.append(time.process_time_ns() - began)
    made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    figures = {"step_ns": statistics.median(taken), "allocations": made / steps, "total_ns": sum(taken)}
    print(json.dumps(figures), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
