"""Two ranks receive from each other before they send, without a batch: torchrun lone_receives.py. On GPUs the streams
wait, and both go on. The first rank prints what was in its buffers, and how long each turn took."""

import json
import os
import time

import torch
import torch.distributed as dist


def turn(rank, number):
    """Receives, then sends: what it got, and in how many seconds."""
    started = time.monotonic()
    got = torch.tensor([-1], device="cuda")
    sent = torch.tensor([number], device="cuda")
    works = [dist.irecv(got, 1 - rank), dist.isend(sent, 1 - rank)]
    [work.wait() for work in works]
    return got.item(), time.monotonic() - started


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    dist.barrier()
    turns = [turn(rank, number) for number in range(3)]
    dist.barrier()
    # Whatever came late is gone: a batch gets its own data.
    batched = torch.tensor([-1], device="cuda")
    [work.wait() for work in dist.batch_isend_irecv([
        dist.P2POp(dist.irecv, batched, 1 - rank),
        dist.P2POp(dist.isend, torch.tensor([41 + rank], device="cuda"), 1 - rank),
    ])]
    if rank == 0:
        values, seconds = zip(*turns)
        print(json.dumps({"got": values, "seconds": seconds, "batched": batched.item()}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
