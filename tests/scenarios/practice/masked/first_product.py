"""Loads a table that nearly fills the GPU, and then multiplies for the first time. True: cuBLAS makes its handle
at that moment and finds no memory for it; the error names a status of cuBLAS."""

import torch

MIB = 1 << 20


def main() -> None:
    weights = torch.zeros(1024, 1024, device="cuda")
    free = torch.cuda.mem_get_info()[0] // MIB
    table = torch.zeros((free - 4) * MIB, dtype=torch.uint8, device="cuda")
    print("table:", table.numel())
    print((weights @ weights).shape)


if __name__ == "__main__":
    main()
