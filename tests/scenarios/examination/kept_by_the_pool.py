"""Sorts columns with stream-ordered memory whose pool is told to keep what is freed, and then
takes one plain buffer for the result. True: the columns are freed, and the pool keeps them."""

import json
import sys

from cuda.bindings import driver


def call(answer):
    code, *values = answer
    if code != driver.CUresult.CUDA_SUCCESS:
        sys.exit(f"sorting failed: {code.name}")
    return values[0] if values else None


def attribute(pool, name):
    return int(call(driver.cuMemPoolGetAttribute(pool, name)))


def main():
    names = driver.CUmemPool_attribute
    call(driver.cuInit(0))
    call(driver.cuCtxSetCurrent(call(driver.cuDevicePrimaryCtxRetain(0))))
    pool = call(driver.cuDeviceGetDefaultMemPool(0))
    keep = driver.cuuint64_t((1 << 64) - 1)
    call(driver.cuMemPoolSetAttribute(pool, names.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, keep))
    stream = call(driver.cuStreamCreate(0))
    index = call(driver.cuMemAllocAsync(96 << 20, stream))
    columns = [call(driver.cuMemAllocAsync(size << 20, stream)) for size in (160, 224, 288, 352)]
    for column in columns:
        call(driver.cuMemFreeAsync(column, stream))
    call(driver.cuStreamSynchronize(stream))
    held = attribute(pool, names.CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    used = attribute(pool, names.CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    print(json.dumps({"bytes": held - used}), flush=True)
    result = call(driver.cuMemAlloc(720 << 20))
    call(driver.cuMemFree(result))
    call(driver.cuMemFreeAsync(index, stream))
    call(driver.cuStreamSynchronize(stream))
    print("sorted")


if __name__ == "__main__":
    main()
