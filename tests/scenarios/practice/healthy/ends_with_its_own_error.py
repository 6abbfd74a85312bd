"""The program works steadily, and ends with an error of its own, in a file name. Its memory was all
right; it was in use because the error came in the middle of a step."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    state = ok(driver.cuMemAlloc(800 << 20))
    for step in range(120):
        scratch = ok(driver.cuMemAlloc(100 << 20))
        ok(driver.cuCtxSynchronize())
        if step == 117:
            open("/nonexistent/results.csv", "w").write(str(step))
        ok(driver.cuMemFree(scratch))
    ok(driver.cuMemFree(state))


main()
