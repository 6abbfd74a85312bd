"""An allocator of the user's own, compiled here, serves a training step."""

import ctypes
import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

from models import report

# Only the two prototypes are needed, so no CUDA header is.
SOURCE = r"""
#include <atomic>
#include <cstddef>
extern "C" {
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
static std::atomic<size_t> calls, live, peak;
void *count_alloc(std::ptrdiff_t size, int, void *) {
    void *pointer = nullptr;
    if (cudaMalloc(&pointer, size) != 0) return nullptr;
    ++calls;
    size_t now = live += size, seen = peak;
    while (seen < now && !peak.compare_exchange_weak(seen, now)) {}
    return pointer;
}
void count_free(void *pointer, size_t size, int, void *) {
    live -= size;
    cudaFree(pointer);
}
size_t count_calls() { return calls; }
size_t count_live() { return live; }
size_t count_peak() { return peak; }
}
"""


def build(folder: str) -> str:
    source, library = Path(folder, "counting.cpp"), Path(folder, "libcounting.so")
    source.write_text(SOURCE)
    subprocess.run(
        ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)],
        check=True,
    )
    return str(library)


def train() -> int:
    model = nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024)).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(256, 1024).to("cuda")).sum().backward()
        optimizer.step()
    return sum(p.numel() * p.element_size() for p in model.parameters())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = build(folder)
        library = ctypes.CDLL(path)
        for name in ("count_calls", "count_live", "count_peak"):
            getattr(library, name).restype = ctypes.c_size_t
        allocator = torch.cuda.memory.CUDAPluggableAllocator(path, "count_alloc", "count_free")
        torch.cuda.memory.change_current_allocator(allocator)
        free_before, _ = torch.cuda.mem_get_info()
        held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        fell = free_before - torch.cuda.mem_get_info()[0]
        assert library.count_live() == held.numel(), f"live: {library.count_live()}, not 64 MiB"
        assert fell >= held.numel(), f"free memory fell by {fell}, less than 64 MiB"
        weights = train()
        calls, peak = library.count_calls(), library.count_peak()
        assert calls > 20, f"three steps made only {calls} calls"
        assert peak >= 2 * weights + held.numel(), f"peak {peak} lacks weights or gradients"
        report({"calls": calls, "live": library.count_live(), "peak": peak})


if __name__ == "__main__":
    main()
