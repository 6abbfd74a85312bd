"""Nearest neighbours by a matrix of distances: neighbours.py --chunk ROWS. True: a chunk's distances and
their sorted copy do not fit at once; smaller chunks give the same result."""

import argparse

import torch

import missing

POINTS, DIMENSIONS = 40_000, 32


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunk", type=int, default=1000)
    chunk = parser.parse_args().chunk
    points = torch.rand(POINTS, DIMENSIONS).cuda()
    for first in range(0, min(POINTS, 3 * chunk), chunk):
        some = points[first : first + chunk]
        distances = (some.square().sum(1)[:, None] - 2 * some @ points.T).sqrt()
        del distances
    print("done in chunks of", chunk)


if __name__ == "__main__":
    with missing.told():
        main()
