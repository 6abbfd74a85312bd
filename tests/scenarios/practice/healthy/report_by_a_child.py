"""A pipeline calls another program for one of its parts; that one uses the GPU and ends. Then the
pipeline uses the whole GPU itself."""

import subprocess
import sys

CHILD = """
from cuda.bindings import driver
driver.cuInit(0)
_, context = driver.cuDevicePrimaryCtxRetain(0)
driver.cuCtxSetCurrent(context)
error, buffer = driver.cuMemAlloc(1400 << 20)
print("child", int(error))
driver.cuMemFree(buffer)
"""


def main() -> None:
    for _ in range(2):
        subprocess.run([sys.executable, "-c", CHILD], check=True)
    from cuda.bindings import driver

    driver.cuInit(0)
    _, context = driver.cuDevicePrimaryCtxRetain(0)
    driver.cuCtxSetCurrent(context)
    error, buffer = driver.cuMemAlloc(1400 << 20)
    print("pipeline", int(error))
    driver.cuMemFree(buffer)
    driver.cuDevicePrimaryCtxRelease(0)


main()
