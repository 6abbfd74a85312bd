"""Embeddings of documents of different lengths, remembered by their name. True: the dictionary grows by
the documents' size; the lengths differ, so the growth is no even step."""

import json
import random

import torch
from torch import nn


@torch.no_grad()
def main() -> None:
    random.seed(5)
    encoder = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 1024)).cuda()
    known: dict[str, torch.Tensor] = {}
    for number in range(240):
        length = random.randrange(256, 2048)
        words = torch.randn(length, 256).cuda()
        vectors = encoder(words)
        known[f"document {number}"] = vectors
        print(json.dumps({"bytes": sum(v.nbytes for v in known.values())}), flush=True)
    print("documents:", len(known))


if __name__ == "__main__":
    main()
