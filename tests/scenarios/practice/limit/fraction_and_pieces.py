"""Under a fraction of 0.55, tiles are carved from a freed image, and every sixth is kept. True: the cap holds back
922 MiB of the device, the pieces in the cache are 640 MiB: either would have served."""

import torch

MIB = 1 << 20


def main() -> None:
    torch.cuda.set_per_process_memory_fraction(0.55)
    image = torch.zeros(768 * MIB, dtype=torch.uint8, device="cuda")
    del image
    tiles = [torch.zeros(16 * MIB, dtype=torch.uint8, device="cuda") for _ in range(48)]
    tiles = tiles[::6]
    mosaic = torch.zeros(500 * MIB, dtype=torch.uint8, device="cuda")
    print(mosaic.numel(), len(tiles))


if __name__ == "__main__":
    main()
