"""What an allocation and its free cost from Python's side, in nanoseconds.

    pairs.py [POOL_LIBRARY]      with it, PyTorch is given the pool by its own interface, unrecorded
"""

import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "torch"))
from models import MIB, report  # noqa: E402

SIZES = [512, 4096, 65536, MIB // 2, MIB, 3 * MIB, 8 * MIB, 24 * MIB]
PAIRS, ROUNDS = 20_000, 9


def allocator_pairs() -> float:
    """PyTorch's functions for memory without a tensor."""
    allocate = torch._C._cuda_cudaCachingAllocator_raw_alloc
    delete = torch._C._cuda_cudaCachingAllocator_raw_delete
    sizes = SIZES * (PAIRS // len(SIZES))
    start = time.perf_counter_ns()
    for size in sizes:
        delete(allocate(size, 0))
    return (time.perf_counter_ns() - start) / len(sizes)


def tensor_pairs() -> float:
    empty, kind = torch.empty, torch.device("cuda")
    sizes = SIZES * (PAIRS // len(SIZES))
    start = time.perf_counter_ns()
    for size in sizes:
        empty(size // 4, device=kind)
    return (time.perf_counter_ns() - start) / len(sizes)


def median(measure) -> float:
    measure()
    return sorted(measure() for _ in range(ROUNDS))[ROUNDS // 2]


def main() -> None:
    if len(sys.argv) > 1:
        names = "whyoom_torch_alloc", "whyoom_torch_free"
        pool = torch.cuda.memory.CUDAPluggableAllocator(sys.argv[1], *names)
        torch.cuda.memory.change_current_allocator(pool)
    torch.cuda.init()
    report({"memory_ns": median(allocator_pairs), "tensor_ns": median(tensor_pairs)})


if __name__ == "__main__":
    main()
