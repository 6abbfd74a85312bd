"""Cuts the files of its own recording while it uses the GPU, goes on, and ends with status 7.

usage: whyoom run -o FOLDER -- python3 cutter.py SUFFIX [own]

SUFFIX: of the files that are cut. `own`: it has a handler for SIGBUS of its own, which must see its own fault.
"""

import ctypes
import mmap
import os
import signal
import sys
import tempfile
import threading

cuda = ctypes.CDLL("libcuda.so.1")


def take(megabytes):
    address = ctypes.c_uint64()
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(megabytes << 20)) in (0, 2)
    return address


def cut(suffix):
    folder = os.environ["WHYOOM_RECORDING"]
    names = [name for name in os.listdir(folder) if name.endswith(suffix)]
    assert names, os.listdir(folder)
    for name in names:
        os.truncate(os.path.join(folder, name), 0)


def fault_of_its_own():
    """A fault that has nothing to do with the recording ends the program as it would without one."""
    file = tempfile.TemporaryFile()
    file.truncate(4096)
    place = mmap.mmap(file.fileno(), 4096)
    file.truncate(0)
    place[0] = 1


def main():
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    kept = [take(1) for _ in range(100)]
    if sys.argv[2:] == ["own"]:
        fault_of_its_own()
    cut(sys.argv[1])
    kept += [take(1) for _ in range(1000)]
    # Each fails, and whoever looks at failures is called.
    kept += [take(1 << 20) for _ in range(3)]
    other = threading.Thread(target=lambda: cuda.cuCtxSetCurrent(context) or take(1))
    other.start()
    other.join()
    for address in kept:
        cuda.cuMemFree_v2(address)
    print("went on", flush=True)
    sys.exit(7)


if __name__ == "__main__":
    main()
