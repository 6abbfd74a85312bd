"""One of several processes of a launch: each takes memory of the device that its rank names."""

import os

import torch

MIB = 1 << 20


def main() -> None:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    kept = [torch.empty((rank + 1) * MIB, dtype=torch.uint8, device="cuda") for _ in range(8)]
    # One write: a line of print may be two, and another process's in between.
    os.write(1, f"rank {rank}: {sum(tensor.numel() for tensor in kept)} bytes\n".encode())


if __name__ == "__main__":
    main()
