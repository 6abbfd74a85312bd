"""The pool's library, by its C interface (whyoom_pool.h)."""

import ctypes

from ._errors import WhyoomError
from ._installation import library

NAME = "libwhyoom_pool.so"
PAIR = ctypes.c_uint64 * 2


class Statistics(ctypes.Structure):
    """whyoom_pool_statistics."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        *(
            (name, ctypes.c_uint64)
            for name in (
                "allocated peak_allocated requested reserved peak_reserved blocks peak_blocks allocations "
                "frees pending spare failures retries driver_calls creates releases maps unmaps access "
                "reserves events waits damaged cap device_total"
            ).split()
        ),
        *(
            ("class_" + name, PAIR)
            for name in (
                "allocated blocks allocations frees allocated_bytes freed_bytes reserved"
            ).split()
        ),
    ]


class Block(ctypes.Structure):
    """whyoom_pool_block."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in "address size requested stream pool".split()),
        ("state", ctypes.c_uint32),
        ("small", ctypes.c_uint32),
    ]


class Pool:
    """What the pool can be asked, for one device at a time."""

    def __init__(self, library):
        library.whyoom_pool_message.restype = ctypes.c_char_p
        library.whyoom_pool_blocks.restype = ctypes.c_size_t
        library.whyoom_pool_blocks.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        library.whyoom_pool_read_statistics.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.library = library

    def statistics(self, device):
        answer = Statistics(size=ctypes.sizeof(Statistics))
        self.check(self.library.whyoom_pool_read_statistics(device, ctypes.byref(answer)))
        return answer

    def blocks(self, device):
        """All blocks that have memory behind them, by address."""
        room = 1024
        while True:
            blocks = (Block * room)()
            there = self.library.whyoom_pool_blocks(device, ctypes.byref(blocks), room)
            if there <= room:
                return sorted(blocks[:there], key=lambda block: block.address)
            # Other threads may make more meanwhile.
            room = there + there // 8 + 1

    def private_name(self, device, number):
        """A private pool as torch names it (`graph.pool()`)."""
        high, low = ctypes.c_uint64(0), ctypes.c_uint64(number)
        ask = getattr(self.library, "whyoom_pool_private_name", None)
        if number and ask is not None:
            ask(device, ctypes.c_uint64(number), ctypes.byref(high), ctypes.byref(low))
        return high.value, low.value

    def reset_peaks(self, device):
        self.check(self.library.whyoom_pool_reset_peaks(device))

    def reset_totals(self, device):
        self.check(self.library.whyoom_pool_reset_totals(device))

    def check(self, code):
        if code != 0:
            message = (self.library.whyoom_pool_message() or b"").decode(errors="replace")
            raise RuntimeError(f"whyoom's pool: {message or code}")


def address(library, function):
    """Where a function of the library is."""
    return ctypes.cast(getattr(library, function), ctypes.c_void_p).value


def load():
    path = library(NAME, "WHYOOM_POOL_LIBRARY")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise WhyoomError(f"whyoom's pool cannot be loaded: {error}") from error
