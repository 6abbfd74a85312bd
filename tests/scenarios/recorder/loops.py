"""Loops whose steps are timed, for what recording costs:

    loops.py churn|lengths|empty|decode|loader STEPS [history] [LIBRARY]

`churn` makes small tensors and little else, below a few Python calls; `lengths` is the training of
a language model with sequences of varying length; `empty` the same with empty_cache at every step;
`decode` generates tokens one by one, with a cache of keys and values that grows; `loader` takes
batches from two workers of a DataLoader through pinned memory and does little with them.
With `history`, PyTorch records its own with stacks="all". LIBRARY is count.c, for callgrind. Prints the median step in nanoseconds of
this thread's and its helpers' processor time, and the allocations of a step.
"""

import ctypes
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


class CachedLayer(nn.Module):
    """A layer of a decoder: what it attends to is kept, and grows by one token at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.mixed = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.wide = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, hidden, cache):
        batch, length, _ = hidden.shape
        query, *new = self.mixed(self.norms[0](hidden)).chunk(3, dim=-1)
        cache = [torch.cat(parts, dim=1) for parts in zip(cache, new)] if cache else new
        heads = [part.view(batch, -1, HEADS, WIDTH // HEADS).transpose(1, 2) for part in (query, *cache)]
        attended = nn.functional.scaled_dot_product_attention(*heads)
        hidden = hidden + self.out(attended.transpose(1, 2).reshape(batch, length, WIDTH))
        return hidden + self.wide(self.norms[1](hidden)), cache


def decode():
    tokens, head = nn.Embedding(VOCABULARY, WIDTH).to("cuda"), nn.Linear(WIDTH, VOCABULARY).to("cuda")
    layers = [CachedLayer().to("cuda") for _ in range(LAYERS)]

    @torch.inference_mode()
    def step() -> None:
        caches = [None] * LAYERS
        token = torch.zeros(4, 16, dtype=torch.long, device="cuda")
        for _ in range(16):
            hidden = tokens(token)
            for number, layer in enumerate(layers):
                hidden, caches[number] = layer(hidden, caches[number])
            token = head(hidden[:, -1:]).argmax(dim=-1)

    return step


class Samples(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int):
        return torch.full((64,), float(index % 7)), index % VOCABULARY


def loader():
    # Workers are forked before the device is used, as it should be.
    batches = iter(torch.utils.data.DataLoader(Samples(), batch_size=16, num_workers=2, pin_memory=True))
    next(batches)
    network = nn.Linear(64, VOCABULARY).to("cuda")

    def step() -> None:
        for _ in range(8):
            samples, labels = next(batches)
            samples, labels = samples.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)
            nn.functional.cross_entropy(network(samples), labels)

    return step


LOOPS = {
    "churn": churn,
    "lengths": lambda: training(False),
    "empty": lambda: training(True),
    "decode": decode,
    "loader": loader,
}


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
    counter = ctypes.CDLL(sys.argv[-1]) if sys.argv[-1].endswith(".so") else None
    if counter:
        counter.count_begin()
    for _ in range(steps):
        began = time.process_time_ns()
        step()
        taken.append(time.process_time_ns() - began)
    if counter:
        counter.count_end()
    made = torch.cuda.memory_stats()["allocation.all.allocated"] - before
    figures = {"step_ns": statistics.median(taken), "allocations": made / steps, "total_ns": sum(taken)}
    print(json.dumps(figures), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
