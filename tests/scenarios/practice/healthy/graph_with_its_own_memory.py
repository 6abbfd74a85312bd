"""A graph with an allocation and a free among its nodes is launched a thousand times: the same
400 MiB serve every launch."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def captured(stream):
    ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL))
    scratch = ok(driver.cuMemAllocAsync(400 << 20, stream))
    ok(driver.cuMemsetD8Async(scratch, 0, 1 << 20, stream))
    ok(driver.cuMemFreeAsync(scratch, stream))
    return ok(driver.cuStreamEndCapture(stream))


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    stream = ok(driver.cuStreamCreate(1))
    graph = captured(stream)
    executable = ok(driver.cuGraphInstantiate(graph, 0))
    for _ in range(1000):
        ok(driver.cuGraphLaunch(executable, stream))
    ok(driver.cuStreamSynchronize(stream))
    ok(driver.cuGraphExecDestroy(executable))
    ok(driver.cuGraphDestroy(graph))
    print("done")


main()
