"""What the pool counts, read through its C interface: not the road that PyTorch's figures take."""

import ctypes
import os

# The structure begins so (crates/pool/include/whyoom_pool.h); it may be longer.
NAMES = """allocated peak_allocated requested reserved peak_reserved blocks
peak_blocks allocations frees pending spare failures retries driver_calls creates releases maps unmaps
access reserves events waits damaged""".split()


class Statistics(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint32), ("device", ctypes.c_uint32)]
    _fields_ += [(name, ctypes.c_uint64) for name in NAMES]


def read(device: int = 0) -> dict[str, int]:
    library = ctypes.CDLL(os.environ["WHYOOM_POOL_LIBRARY"])
    statistics = Statistics(size=ctypes.sizeof(Statistics))
    code = library.whyoom_pool_read_statistics(device, ctypes.byref(statistics))
    assert code == 0, f"whyoom_pool_read_statistics returned {code}"
    return {name: getattr(statistics, name) for name in NAMES}
