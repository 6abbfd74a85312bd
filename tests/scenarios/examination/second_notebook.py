"""A notebook that only fits a line to a few points, on a GPU that somebody else's job has filled.
True: cuBLAS finds no room for its handle because the other process holds the memory."""

import torch


def main():
    points = torch.rand(200_000, 8, device="cuda")
    values = torch.rand(200_000, 1, device="cuda")
    gram = points.T @ points
    right = points.T @ values
    print("normal equations:", tuple(gram.shape), tuple(right.shape))


if __name__ == "__main__":
    main()
