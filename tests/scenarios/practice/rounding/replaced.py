"""Rows are replaced by shorter ones, one by one. True: each shorter row takes the whole place of the one before
it, since the 1 MiB behind it is not split off; all that is behind them would have served the last."""

import json

import torch

LONG, SHORT = (5 << 20) // 2, (3 << 20) // 2  # 2.5 and 1.5 MiB


def row(size: int) -> torch.Tensor:
    return torch.empty(size, dtype=torch.uint8, device="cuda")


def main() -> None:
    rows = [row(LONG) for _ in range(624)]
    for number in range(len(rows)):
        rows[number] = None
        rows[number] = row(SHORT)
    stats = torch.cuda.memory_stats()
    waste = stats["allocated_bytes.all.current"] - stats["requested_bytes.all.current"]
    print(json.dumps({"bytes": waste}), flush=True)
    summary = row(400 << 20)
    print("summary:", summary.numel())


if __name__ == "__main__":
    main()
