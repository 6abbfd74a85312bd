"""Animates a picture: its temporal layers look at every pixel of every frame at once.
True: the matrix of scores alone is larger than the GPU. In parts, it fits."""

import argparse
import json
import math

import torch


def report(_device, asked, total, _free):
    print(json.dumps({"bytes": asked - total}), flush=True)


def attend(query, key, value, rows):
    parts = []
    for part in query.split(rows):
        scores = part @ key.T / math.sqrt(key.shape[1])
        parts.append(scores.softmax(dim=-1) @ value)
    return torch.cat(parts)


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=96)
    parser.add_argument("--frames", type=int, default=6)
    parser.add_argument("--rows", type=int, default=1 << 30, help="queries at once")
    args = parser.parse_args()
    torch._C._cuda_attach_out_of_memory_observer(report)
    places = args.side * args.side * args.frames
    query, key, value = torch.randn(3, places, 320, device="cuda")
    print("attended", tuple(attend(query, key, value, args.rows).shape))


if __name__ == "__main__":
    main()
