"""Three ranks, each with a GPU of its own, and in each a thread that brings batches to the GPU
ahead of the training. The main thread chooses the GPU; a new thread starts on GPU 0.
True: the threads of ranks 1 and 2 hold a context on GPU 0, which rank 0 lacks for its images."""

import json
import os
import queue
import sys
import threading

import torch
import torch.multiprocessing as mp
from torch import nn


class Prefetcher(threading.Thread):
    def __init__(self, device, batches):
        super().__init__(daemon=True)
        self.device, self.batches = device, batches
        self.ready = queue.Queue(maxsize=2)

    def run(self):
        stream = torch.cuda.Stream()
        for _ in range(self.batches):
            with torch.cuda.stream(stream):
                images = torch.zeros(24, 3, 224, 224).to(self.device)
            self.ready.put(images)


def train(rank, turn, finished):
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    if rank == 0:
        torch.cuda.init()
        before = torch.cuda.mem_get_info()[0]
        turn.wait()
        turn.wait()
        print(json.dumps({"bytes": before - torch.cuda.mem_get_info()[0]}), flush=True)
        loader = Prefetcher(device, batches=4)
        loader.start()
    else:
        turn.wait()
        loader = Prefetcher(device, batches=4)
        loader.start()
        while loader.ready.empty():
            pass
        turn.wait()
    model = nn.Sequential(nn.Conv2d(3, 64, 7, stride=2), nn.ReLU(), nn.Conv2d(64, 96, 3)).to(device)
    for _ in range(4):
        model(loader.ready.get()).square().mean().backward()
    finished.wait(30)
    sys.stdout.flush()
    os._exit(0)


def main():
    processes = mp.get_context("fork")
    turn, finished = processes.Barrier(3), processes.Barrier(3)
    ranks = [processes.Process(target=train, args=(rank, turn, finished)) for rank in range(3)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
        if rank.exitcode:
            [other.kill() for other in ranks]
            sys.exit(rank.exitcode)
    print("all ranks are done")


if __name__ == "__main__":
    main()
