"""Two caching allocators in one process, each with free bytes that the other needs."""

import ctypes

import torch

from models import report

OUT_OF_MEMORY = 2  # CUDA_ERROR_OUT_OF_MEMORY
ROUND = 2 << 20


class Arena:
    """A second pool over the driver's own calls; it keeps what is given back."""

    def __init__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.free: list[tuple[int, ctypes.c_uint64]] = []

    def take(self, size: int) -> ctypes.c_uint64 | None:
        for index, (held, pointer) in enumerate(self.free):
            if held >= size:
                del self.free[index]
                return pointer
        pointer = ctypes.c_uint64()
        code = self.driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size))
        assert code in (0, OUT_OF_MEMORY), f"cuMemAlloc returned {code}"
        return pointer if code == 0 else None

    def give(self, size: int, pointer: ctypes.c_uint64) -> None:
        self.free.append((size, pointer))

    def trim(self) -> None:
        for _, pointer in self.free:
            assert self.driver.cuMemFree_v2(pointer) == 0, "cuMemFree failed"
        self.free.clear()


def tensor(size: int) -> torch.Tensor | None:
    try:
        return torch.empty(size, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return None


def main() -> None:
    torch.cuda.init()
    unit = torch.cuda.mem_get_info()[0] // 16 // ROUND * ROUND
    arena = Arena()
    arena.give(7 * unit, arena.take(7 * unit))
    del_me = tensor(6 * unit)
    del del_me
    figures = {
        "cause": "cache-held",
        "free_in_torch": torch.cuda.memory_reserved() - torch.cuda.memory_allocated(),
        "free_in_arena": sum(size for size, _ in arena.free),
        "free_on_device": torch.cuda.mem_get_info()[0],
        "arena_wants": 8 * unit,
        "torch_wants": 10 * unit,
    }
    assert figures["free_in_torch"] == 6 * unit, f"PyTorch holds free: {figures}"

    # 3 units are free, 9 with PyTorch's cache: the arena's 8 would fit there.
    assert arena.take(8 * unit) is None, "8 units must not fit beside PyTorch's cache"
    # PyTorch gives up its own cache first: 9 units, and 16 with the arena's.
    assert tensor(10 * unit) is None, "10 units must not fit beside the arena's cache"
    arena.trim()
    large = tensor(10 * unit)
    assert large is not None, "10 units must fit once the arena has let go"
    del large
    # Now the other way: PyTorch caches 10 units, and the arena needs them.
    assert arena.take(8 * unit) is None, "8 units must not fit beside PyTorch's cache"
    torch.cuda.empty_cache()
    assert arena.take(8 * unit) is not None, "8 units must fit after empty_cache"
    report(figures)


if __name__ == "__main__":
    main()
