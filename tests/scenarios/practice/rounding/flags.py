"""One tensor for each flag of a large table. True: eight bytes are asked for, 512 are taken, each time."""

import json

import torch


def main() -> None:
    flags = []
    try:
        for number in range(1_000_000):
            flags.append(torch.empty(1, dtype=torch.int64, device="cuda"))
    except torch.OutOfMemoryError:
        stats = torch.cuda.memory_stats()
        waste = stats["allocated_bytes.all.current"] - stats["requested_bytes.all.current"]
        print(json.dumps({"bytes": waste}), flush=True)
        raise


if __name__ == "__main__":
    main()
