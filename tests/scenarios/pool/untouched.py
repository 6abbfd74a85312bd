"""The memory of a captured graph is nobody else's while the graph is there, however short memory gets.

    untouched.py

Copies are what the lab carries out: a graph copies from its input to memory of its own pool and on to
its output. In between, others take and free all that the device has.
"""

import gc
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))
from models import MIB, report  # noqa: E402

COUNT = 8 * MIB  # of float32: 32 MiB
ROUNDS = 5


def capture(source: torch.Tensor, target: torch.Tensor) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        between = torch.empty_like(source)
        dropped = torch.empty_like(source)  # free, and still the graph's
        dropped.copy_(source)
        between.copy_(dropped)
        del dropped
        target.copy_(between)
    return graph


def crowd() -> int:
    """Takes memory until there is none, fills it, and frees it; how much it was."""
    taken = []
    try:
        while True:
            taken.append(torch.full((4 * MIB,), -1.0).to("cuda"))
    except torch.OutOfMemoryError:
        return 16 * MIB * len(taken)


def main() -> None:
    source = torch.zeros(COUNT, device="cuda")
    target = torch.zeros(COUNT, device="cuda")
    graph, crowds = capture(source, target), []
    for number in range(ROUNDS):
        wanted = torch.arange(COUNT, dtype=torch.float32) + number
        source.copy_(wanted)
        graph.replay()
        crowds.append(crowd())
        assert torch.equal(target.cpu(), wanted), f"round {number}: the graph's memory was touched"
    del graph
    gc.collect()
    after = crowd()
    report(
        {
            "holds": after >= max(crowds) + 4 * COUNT,
            "rounds": ROUNDS,
            "others_took": max(crowds),
            "others_took_after": after,
        }
    )


if __name__ == "__main__":
    main()
