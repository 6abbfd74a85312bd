"""Four streams take from one pool and give back to it, with events between them: the pool's peak is
that of four together, and all of it is reused. At the end it is trimmed."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    streams = [ok(driver.cuStreamCreate(1)) for _ in range(4)]
    done = ok(driver.cuEventCreate(0))
    for step in range(150):
        taken = [ok(driver.cuMemAllocAsync((60 + 20 * index) << 20, stream)) for index, stream in enumerate(streams)]
        for stream in streams[1:]:
            ok(driver.cuEventRecord(done, stream))
            ok(driver.cuStreamWaitEvent(streams[0], done, 0))
        for buffer in taken:
            ok(driver.cuMemFreeAsync(buffer, streams[0]))
        ok(driver.cuStreamSynchronize(streams[0]))
    ok(driver.cuMemPoolTrimTo(ok(driver.cuDeviceGetDefaultMemPool(0)), 0))
    print("done")


main()
