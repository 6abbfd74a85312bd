"""A server whose worker uses the GPU and waits for requests, and whose parent waits for the worker."""

import multiprocessing
import time


def work():
    import torch

    torch.ones(1 << 20, device="cuda")
    time.sleep(10_000)


if __name__ == "__main__":
    worker = multiprocessing.get_context("spawn").Process(target=work)
    worker.start()
    worker.join()
