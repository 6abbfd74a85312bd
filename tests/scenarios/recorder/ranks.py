"""One of several processes of a launch: each takes memory of the device that its rank names."""

import os

import torch

MIB = 1 << 20


def main() -> None:
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    kept = [torch.empty((rank + 1) * MIB, dtype=torch.uint8, device="cuda") for _ in range(8)]
    print(f"rank {rank}: {sum(tensor.numel() for tensor in kept)} bytes", flush=True)


if __name__ == "__main__":
    main()
