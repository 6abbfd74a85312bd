"""Two buffers; nothing in here limits anything."""

import torch

MIB = 1 << 20


def main() -> None:
    first = torch.zeros(600 * MIB, dtype=torch.uint8, device="cuda")
    second = torch.zeros(600 * MIB, dtype=torch.uint8, device="cuda")
    print(first.numel() + second.numel())


if __name__ == "__main__":
    main()
