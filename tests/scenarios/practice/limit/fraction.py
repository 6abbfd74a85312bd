"""A notebook that is to leave half of the GPU to others. True: the device has room, the fraction has not."""

import torch

MIB = 1 << 20


def main() -> None:
    torch.cuda.set_per_process_memory_fraction(0.5)
    base = torch.zeros(700 * MIB, dtype=torch.uint8, device="cuda")
    more = torch.zeros(500 * MIB, dtype=torch.uint8, device="cuda")
    print(base.numel() + more.numel())


if __name__ == "__main__":
    main()
