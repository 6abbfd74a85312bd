"""All distances between 40,000 points: pairs.py --chunk ROWS. True: 40,000 x 40,000 floats are 5.96 GiB, more than
the device has; in chunks of rows they fit."""

import argparse

import torch

POINTS = 40_000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--chunk", type=int, default=POINTS)
    chunk = parser.parse_args().chunk
    points = torch.rand(POINTS, 3).cuda()
    for first in range(0, POINTS, chunk):
        nearest = (points[first : first + chunk] @ points.T).argmax(dim=1)
        nearest.cpu()
    print("done in chunks of", chunk)


if __name__ == "__main__":
    main()
