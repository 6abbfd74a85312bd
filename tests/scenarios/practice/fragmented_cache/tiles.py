"""A panorama is shown, then cut into tiles of which every eighth is kept. True: the tiles were carved from the
panorama's segment; the kept ones pin it all, and the next panorama finds no piece that is large enough."""

import json

import torch


def main() -> None:
    panorama = torch.zeros(1200 << 20, dtype=torch.uint8, device="cuda")
    del panorama
    tiles = [torch.zeros(16 << 20, dtype=torch.uint8, device="cuda") for _ in range(72)]
    kept = tiles[::8]
    del tiles
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached}), flush=True)
    panorama = torch.zeros(1000 << 20, dtype=torch.uint8, device="cuda")
    print("next panorama:", panorama.numel(), "tiles kept:", len(kept))


if __name__ == "__main__":
    main()
