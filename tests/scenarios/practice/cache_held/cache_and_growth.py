"""A loop keeps masks on the GPU, 10 MiB each; then a renderer asks the driver for its frame buffer. True: what the
loop kept is 300 MiB, what PyTorch's cache holds unused 1000 MiB: either would do for the renderer."""

import ctypes
import json

import torch

MIB = 1 << 20


def segment(number: int) -> torch.Tensor:
    image = torch.zeros(1000 * MIB, dtype=torch.uint8, device="cuda")
    return image[:1].clone()


def masks() -> list[torch.Tensor]:
    kept = []
    for number in range(30):
        segment(number)
        image = torch.zeros(1000 * MIB, dtype=torch.uint8, device="cuda")
        kept.append(torch.zeros(10 * MIB, dtype=torch.uint8, device="cuda"))
        del image
    return kept


def main() -> None:
    kept = masks()
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached}), flush=True)
    buffer, driver = ctypes.c_uint64(), ctypes.CDLL("libcuda.so.1")
    code = driver.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(450 * MIB))
    if code:
        raise RuntimeError(f"renderer: no frame buffer (CUDA error {code}), masks {len(kept)}")


if __name__ == "__main__":
    main()
