"""Resumes a training on four GPUs from a checkpoint that was saved on the first. Every rank loads
it as it was saved, and so onto GPU 0, though all it wants are the losses so far.
True: three ranks have a context on GPU 0 that they do not need; rank 0 lacks that memory."""

import json
import os
import sys
import tempfile

import torch
import torch.multiprocessing as mp
from torch import nn


def network():
    return nn.Sequential(*(nn.Linear(3072, 3072) for _ in range(9)))


def save_checkpoint(path):
    torch.save({"losses": torch.zeros(1000, device="cuda"), "epoch": 3}, path)


def load(path):
    checkpoint = torch.load(path)
    return checkpoint["epoch"], checkpoint["losses"].tolist()


def train(rank, path, turn, finished):
    device = torch.device("cuda", rank)
    if rank > 0:
        turn.wait()
    epoch, losses = load(path)
    if rank == 0:
        before = torch.cuda.mem_get_info(0)[0]
        turn.wait()
    turn.wait()
    if rank == 0:
        print(json.dumps({"bytes": before - torch.cuda.mem_get_info(0)[0]}), flush=True)
    torch.cuda.set_device(device)
    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(2):
        model(torch.randn(64, 3072, device=device)).mean().backward()
        optimizer.step()
    print("rank", rank, "ends epoch", epoch, "after", len(losses), "steps")
    finished.wait(30)
    sys.stdout.flush()
    os._exit(0)


def main():
    processes = mp.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "last.pt")
        saver = processes.Process(target=save_checkpoint, args=(path,))
        saver.start()
        saver.join()
        turn, finished = processes.Barrier(4), processes.Barrier(4)
        ranks = [processes.Process(target=train, args=(r, path, turn, finished)) for r in range(4)]
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
