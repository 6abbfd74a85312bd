"""Attention written out: attention.py --seq-len N. True: the matrix of scores and its softmax, each of
heads x N x N, do not fit together."""

import argparse

import torch
import torch.nn.functional as F

import missing

HEADS, DEPTH = 16, 64


def attend(q, k, v):
    weights = (q @ k.transpose(-2, -1) / DEPTH**0.5).softmax(dim=-1)
    return weights @ v


@torch.no_grad()
def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seq-len", type=int, default=1024)
    length = parser.parse_args().seq_len
    q, k, v = torch.randn(3, HEADS, length, DEPTH, dtype=torch.half, device="cuda")
    print("attended:", tuple(attend(q, k, v).shape), F.__name__)


if __name__ == "__main__":
    with missing.told():
        main()
