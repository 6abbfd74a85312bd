"""An index of vectors is built on the GPU from a file of 200 blocks, block after block, and then
queried. It ends as large as the file: that is what an index is."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    index = []
    for _ in range(200):
        raw = ok(driver.cuMemAlloc(12 << 20))
        block = ok(driver.cuMemAlloc(6 << 20))
        ok(driver.cuCtxSynchronize())
        ok(driver.cuMemFree(raw))
        index.append(block)
    for _ in range(1000):
        query, nearest = ok(driver.cuMemAlloc(1 << 20)), ok(driver.cuMemAlloc(2 << 20))
        ok(driver.cuCtxSynchronize())
        ok(driver.cuMemFree(query))
        ok(driver.cuMemFree(nearest))
    for block in index:
        ok(driver.cuMemFree(block))
    print("blocks", len(index))


main()
