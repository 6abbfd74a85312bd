"""The same panorama; the setting is switched on by PyTorch's own call when the tiles are there. True: only memory
that is taken from then on is expandable; what is in the way was taken before."""

import torch

MIB = 1 << 20


def tensor(size: int) -> torch.Tensor:
    return torch.zeros(size * MIB, dtype=torch.uint8, device="cuda")


def main() -> None:
    panorama = tensor(1200)
    del panorama
    tiles = [tensor(16) for _ in range(72)]
    tiles = tiles[::8]
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")
    panorama = tensor(1000)
    print("next panorama:", panorama.numel(), "tiles kept:", len(tiles))


if __name__ == "__main__":
    main()
