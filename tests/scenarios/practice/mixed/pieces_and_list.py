"""A panorama is cut into tiles of which a third is kept; then frames are rendered, and of each a strip is kept. True:
what lies in pieces in the panorama's segment is more than what the strips have come to when a frame finds no room."""

import json

import torch

MIB = 1 << 20


def tensor(size: int) -> torch.Tensor:
    return torch.empty(size * MIB, dtype=torch.uint8, device="cuda")


def kept_tiles() -> list[torch.Tensor]:
    panorama = tensor(2592)
    del panorama
    tiles = [tensor(16) for _ in range(162)]
    return [tile for number, tile in enumerate(tiles) if number % 6 < 2]


def main() -> None:
    tiles, strips = kept_tiles(), []
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached}), flush=True)
    for _ in range(20):
        frame = tensor(200)
        strips.append(tensor(66))
        del frame
    print(len(tiles), len(strips))


if __name__ == "__main__":
    main()
