"""A cache of thumbnails: every second picture is dropped again. True: half of each segment is free, and
no piece of it is large enough for the sheet that is to show them all."""

import json

import torch


def main() -> None:
    pictures = [torch.zeros(5 << 20, dtype=torch.uint8, device="cuda") for _ in range(256)]  # 5 MiB each
    kept = pictures[::2]
    del pictures
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached}), flush=True)
    sheet = torch.zeros(500 << 20, dtype=torch.uint8, device="cuda")
    print("sheet:", sheet.numel(), "of", len(kept))


if __name__ == "__main__":
    main()
