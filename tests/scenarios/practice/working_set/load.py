"""Loads a model of 48 layers: load.py --dtype float32. True: the weights alone exceed the GPU; in half the
bytes they fit."""

import argparse

import torch
from torch import nn

import missing


def load(kind: torch.dtype) -> nn.Module:
    with torch.device("cuda"):
        return nn.ModuleList(nn.Linear(3072, 3072, dtype=kind) for _ in range(48))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dtype", default="float32")
    model = load(getattr(torch, parser.parse_args().dtype))
    print("parameters:", sum(p.numel() for p in model.parameters()))


if __name__ == "__main__":
    with missing.told():
        main()
