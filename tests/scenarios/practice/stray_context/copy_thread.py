"""Two ranks; each has a thread that stages batches on a stream of its own.

True: a new thread's current device is 0, so rank 1's thread opens a context on GPU 0, where rank 0
lacks it.
"""

import json
import multiprocessing
import os
import sys
import threading

import torch

SIZE = 700 << 20


def stage(rank: int) -> None:
    stream = torch.cuda.Stream()
    stream.synchronize()


def train(rank: int, begin, staged, finish) -> None:
    begin.wait()
    torch.cuda.set_device(rank)
    activations = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    thread = threading.Thread(target=stage, args=(rank,))
    thread.start()
    thread.join()
    staged.put(activations.numel())
    finish.wait()
    os._exit(0)


def main() -> None:
    fork = multiprocessing.get_context("fork")
    begin, staged, finish = fork.Event(), fork.Queue(), fork.Event()
    fork.Process(target=train, args=(1, begin, staged, finish), daemon=True).start()
    torch.cuda.set_device(0)
    torch.cuda.init()
    before = torch.cuda.mem_get_info()[0]
    begin.set()
    staged.get()
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
