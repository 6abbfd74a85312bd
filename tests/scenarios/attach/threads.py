"""Computes in several threads, for which the first one waits."""

import threading

import common
import torch
from common import end, is_over, ready


def work(kept):
    kept.append(torch.empty(4 << 20, device="cuda"))
    made.release()
    number = 0
    while number % 10_000 or not is_over():
        number += 1


kept, made = [], threading.Semaphore(0)
threads = [threading.Thread(target=work, args=(kept,), name=f"worker {n}") for n in range(4)]
for thread in threads:
    thread.start()
for _ in threads:
    made.acquire()
ready(torch)
for thread in threads:
    thread.join()
# They are gone by themselves.
print(len(kept), "tensors")
common.before["threads"] = {"MainThread"}
end()
