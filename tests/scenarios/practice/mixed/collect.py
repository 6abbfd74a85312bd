"""Collects outputs of 12 MiB a batch on the GPU."""

import json

import torch


def main() -> None:
    outputs = []
    for _ in range(400):
        y = torch.zeros(2048, 1536, device="cuda")
        outputs.append(y)
        print(json.dumps({"bytes": len(outputs) * y.nbytes}), flush=True)
    print("outputs:", len(outputs))


if __name__ == "__main__":
    main()
