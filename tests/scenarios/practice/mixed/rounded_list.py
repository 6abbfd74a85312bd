"""Maps of 17 MiB are collected under roundup_power2_divisions:2. True: the list keeps all of the device; a
quarter of what it keeps is rounding, 24 MiB being taken for each map."""

import json

import torch

MAP, TAKEN = 17 << 20, 24 << 20


def main() -> None:
    maps = []
    for _ in range(50):
        maps.append(torch.zeros(MAP, dtype=torch.uint8, device="cuda"))
        print(json.dumps({"bytes": len(maps) * TAKEN}), flush=True)
    print("maps:", len(maps))


if __name__ == "__main__":
    main()
