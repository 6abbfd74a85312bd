"""Holds memory of the simulated GPU, or takes it until it runs out, whatever else its command line says.

usage: holds.py hold MIB [USER] [--title NAME] | fail    (other words are there to be seen)

`hold` prints its number and ends when its input does; as another user from then on where one is named.
"""

import ctypes
import os
import sys


def main():
    driver = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    take = lambda mebibytes: driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(mebibytes << 20))
    if sys.argv[1] == "fail":
        while take(64) == 0:
            pass
        return 1
    assert take(int(sys.argv[2])) == 0
    if len(sys.argv) > 3 and sys.argv[3].isdigit():
        os.setgroups([])
        os.setgid(int(sys.argv[3]))
        os.setuid(int(sys.argv[3]))
    if "--title" in sys.argv:
        with open("/proc/self/comm", "wb") as name:
            name.write(os.fsencode(sys.argv[sys.argv.index("--title") + 1]))
    print(os.getpid(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    sys.exit(main())
