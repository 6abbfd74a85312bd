"""Three ranks resume from rank 0's checkpoint.

True: the checkpoint's tensors were saved from cuda:0, so loading them puts a context of every rank
there; rank 0 lacks that memory.
"""

import json
import multiprocessing
import os
import sys
import tempfile

import torch

RANKS = 3
PATH = os.path.join(tempfile.mkdtemp(), "last.pt")
SIZE = 700 << 20


def resume(rank: int, saved, loaded, finish) -> None:
    saved.wait()
    torch.cuda.set_device(rank)
    state = torch.load(PATH, weights_only=True)
    bias = torch.zeros(512, device="cuda")
    bias.copy_(state["bias"])
    del state
    activations = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    loaded.put(activations.numel())
    finish.wait()
    os._exit(0)


def main() -> None:
    fork = multiprocessing.get_context("fork")
    saved, loaded, finish = fork.Event(), fork.Queue(), fork.Event()
    for rank in range(1, RANKS):
        fork.Process(target=resume, args=(rank, saved, loaded, finish), daemon=True).start()
    torch.cuda.set_device(0)
    torch.save({"bias": torch.zeros(512, device="cuda")}, PATH)
    before = torch.cuda.mem_get_info()[0]
    saved.set()
    for _ in range(1, RANKS):
        loaded.get()
    print(json.dumps({"bytes": before - torch.cuda.mem_get_info()[0]}), flush=True)
    try:
        activations = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        print(activations.numel())
    finally:
        finish.set()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
