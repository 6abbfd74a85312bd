"""Rank 0 comes to a collective that rank 1 does not come to: torchrun absent_rank.py exited|late|other.
Rank 0 prints what its call failed with, and how long that took."""

import json
import os
import sys
import time

import torch
import torch.distributed as dist


def collective(rank, how):
    if rank == 1 and how == "exited":
        os._exit(0)
    if rank == 1 and how == "late":
        time.sleep(30)
    value = torch.ones(4, dtype=torch.int64, device="cuda")
    if rank == 1 and how == "other":
        dist.broadcast(value[:2], src=1)
    else:
        dist.all_reduce(value)


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    # Both are there.
    dist.barrier()
    if sys.argv[1] == "late":
        # Not before: the ranks of a busy machine may take longer to the barrier.
        os.environ["WHYOOM_LAB_NCCL_TIMEOUT"] = "3"
    started = time.monotonic()
    try:
        collective(rank, sys.argv[1])
    except RuntimeError as error:
        if rank == 0:
            print(json.dumps({"error": str(error), "seconds": time.monotonic() - started}), flush=True)
    # Leaving in order would wait for the other rank.
    os._exit(0)


if __name__ == "__main__":
    main()
