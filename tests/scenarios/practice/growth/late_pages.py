"""Pages of a scan are sharpened; once the first hundred are seen to be good, the rest is kept to be
written out together. True: flat for a hundred pages, then 16 MiB stay behind with each."""

import json

import torch

PAGES, CHECKED = 165, 100


def sharpen(page: torch.Tensor) -> torch.Tensor:
    return page * 1.5 - page.roll(1) * 0.5


def main() -> None:
    done = []
    for number in range(PAGES):
        page = torch.rand(2048, 2048, device="cuda")  # 16 MiB
        result = sharpen(page)
        if number >= CHECKED:
            done.append(result)
            print(json.dumps({"bytes": len(done) * result.nbytes}), flush=True)
    print("pages:", len(done))


if __name__ == "__main__":
    main()
