"""Somebody deletes a tensor, empties the cache and finds that nvidia-smi still shows hundreds of
megabytes. True: that is the context, which stays until the process ends."""

import time

import torch


def shown():
    free, total = torch.cuda.mem_get_info()
    return f"{(total - free) >> 20} MiB in use, {torch.cuda.memory_allocated() >> 20} by tensors"


def main():
    ones = torch.ones([12_000, 12_000], device="cuda")
    print("with it:   ", shown())
    del ones
    print("deleted:   ", shown())
    torch.cuda.empty_cache()
    time.sleep(0.5)
    print("cache empty:", shown())


if __name__ == "__main__":
    main()
