"""Scores clips with PyTorch, then opens a video decoder that takes its surfaces from the driver itself. True:
PyTorch's cache holds what the decoder lacks, and uses none of it."""

import ctypes
import json

import torch

SURFACES, SURFACE = 12, 80 << 20


class Decoder:
    """Takes its surfaces as the decoder's library does: by the driver's own call."""

    def __init__(self):
        driver = ctypes.CDLL("libcuda.so.1")
        self.surfaces = [ctypes.c_uint64() for _ in range(SURFACES)]
        for surface in self.surfaces:
            code = driver.cuMemAlloc_v2(ctypes.byref(surface), ctypes.c_size_t(SURFACE))
            if code:
                raise RuntimeError(f"decoder: cannot create surfaces (CUDA error {code})")


def score() -> float:
    clips = torch.zeros(1100 << 20, dtype=torch.uint8, device="cuda")
    return float(clips[:1024].float().mean())


def main() -> None:
    print("score", score())
    cached = torch.cuda.memory_reserved() - torch.cuda.memory_allocated()
    print(json.dumps({"bytes": cached // (2 << 20) * (2 << 20)}), flush=True)
    decoder = Decoder()
    print("surfaces:", len(decoder.surfaces))


if __name__ == "__main__":
    main()
