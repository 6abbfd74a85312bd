"""A loader whose workers put each sample on the device themselves, then the model's own step.

True: each worker has a context of some hundred MiB for a sample of a few KiB.
"""

import argparse
import json
import multiprocessing
import os
import sys

import torch


def worker(device: str, begin, samples, finish) -> None:
    begin.wait()
    sample = torch.zeros(64, 64, device=device)
    samples.put(sample.numel())
    finish.wait()
    os._exit(0)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=5)
    parser.add_argument("--worker-device", default="cuda")
    arguments = parser.parse_args()
    fork = multiprocessing.get_context("fork")
    begin, samples, finish = fork.Event(), fork.Queue(), fork.Event()
    shared = (arguments.worker_device, begin, samples, finish)
    for _ in range(arguments.workers):
        fork.Process(target=worker, args=shared, daemon=True).start()

    weights = torch.zeros(256 << 20, dtype=torch.uint8, device="cuda")
    before = torch.cuda.mem_get_info()[0]
    begin.set()
    for _ in range(arguments.workers):
        samples.get()
    print(json.dumps({"bytes": before - torch.cuda.mem_get_info()[0]}), flush=True)
    try:
        activations = torch.zeros(1100 << 20, dtype=torch.uint8, device="cuda")
        print(activations.numel() + weights.numel())
    finally:
        finish.set()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
