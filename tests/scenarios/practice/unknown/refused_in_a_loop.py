"""Steady work on a twentieth of the device; the driver says at once that there is no memory (the lab
makes the call fail), with nearly all of it free."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    if error != driver.CUresult.CUDA_SUCCESS:
        raise MemoryError(f"{error!r}")
    return values[0] if len(values) == 1 else values


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    for _ in range(200):
        left, right = ok(driver.cuMemAlloc(40 << 20)), ok(driver.cuMemAlloc(60 << 20))
        ok(driver.cuCtxSynchronize())
        ok(driver.cuMemFree(left))
        ok(driver.cuMemFree(right))


main()
