"""Serve a small decoder; rotary tables and causal masks are built per length bucket."""
import random
import torch
import torch.nn.functional as F

DEV = "cuda"
HEADS, DIM = 16, 64
BUCKETS = [512 * i for i in range(1, 17)]
_tables = {}


def bucket(n):
    for b in BUCKETS:
        if n <= b:
            return b
    raise ValueError(n)


def tables(n):
    if n not in _tables:
        freqs = torch.zeros(n, DIM, device=DEV)
        mask = torch.full((n, n), float("-inf"), device=DEV, dtype=torch.half).triu(1)
        _tables[n] = (freqs.cos(), freqs.sin(), mask)
    return _tables[n]


@torch.inference_mode()
def answer(n):
    b = bucket(n)
    cos, sin, mask = tables(b)
    q = torch.zeros(1, 1, b, DIM, device=DEV, dtype=torch.half)
    q = q * cos.half() + q * sin.half()
    scores = q @ q.transpose(-1, -2) + mask
    return F.softmax(scores, -1) @ q


rng = random.Random(11)
for req in range(600):
    # new users write short questions first, longer ones come with the day
    n = rng.randint(100, min(8192, 400 + 60 * req))
    out = answer(n)
    del out
    if req % 100 == 0:
        print("request", req, "tables", len(_tables), flush=True)
print("served")
