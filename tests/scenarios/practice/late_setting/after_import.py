"""A panorama is shown, then cut into tiles of which every eighth is kept. True: the setting against such pieces is
made, but after the allocator has read its settings: it has no effect."""

import os

import torch

MIB = 1 << 20


def tensor(size: int) -> torch.Tensor:
    return torch.zeros(size * MIB, dtype=torch.uint8, device="cuda")


def main() -> None:
    print("GPU:", torch.cuda.get_device_name(), torch.zeros(1).cuda().device)
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
    panorama = tensor(1200)
    del panorama
    tiles = [tensor(16) for _ in range(72)]
    tiles = tiles[::8]
    panorama = tensor(1000)
    print("next panorama:", panorama.numel(), "tiles kept:", len(tiles))


if __name__ == "__main__":
    main()
