"""Makes layers.pickle, of a run of layers.py that fails for roundup_power2_divisions:2:

    whyoom lab run --memory 2GiB -- env PYTORCH_CUDA_ALLOC_CONF=roundup_power2_divisions:2 \
        python make_snapshot.py layers.pickle
"""

import sys

import torch


def main() -> None:
    torch.cuda.memory._record_memory_history(stacks="python")
    layers = []
    try:
        while True:
            layers.append(torch.empty(68 << 20, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError:
        stats = torch.cuda.memory_stats()
        print(stats["allocated_bytes.all.current"] - stats["requested_bytes.all.current"])
        torch.cuda.memory._dump_snapshot(sys.argv[1])


if __name__ == "__main__":
    main()
