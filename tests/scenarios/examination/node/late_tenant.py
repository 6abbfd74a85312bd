"""Loads a first model, prepares data on the host for a while, then loads a second one."""

import time

import torch


def model(mebibytes):
    return [torch.nn.Linear(4096, 4096, bias=False, device="cuda") for _ in range(mebibytes // 64)]


first = model(512)
print("first model loaded, reading the corpus", flush=True)
time.sleep(4)
second = model(1024)
print("second model loaded")
