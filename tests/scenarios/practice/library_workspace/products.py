"""One product of matrices, then the data. True: with CUBLAS_WORKSPACE_CONFIG as the environment has it, cuBLAS
takes 400 MiB from the driver beside PyTorch, which takes as much again for its own workspace."""

import json

import torch

MIB = 1 << 20


def used() -> int:
    free, total = torch.cuda.mem_get_info()
    return total - free


def main() -> None:
    left, right = torch.zeros(2, 512, 512, device="cuda")
    context = used() - torch.cuda.memory_reserved()
    product = left @ right
    outside = used() - torch.cuda.memory_reserved() - context
    print(json.dumps({"bytes": outside}), flush=True)
    data = torch.zeros(1250 * MIB, dtype=torch.uint8, device="cuda")
    print("data:", data.numel(), product.shape)


if __name__ == "__main__":
    main()
