"""A hash table on the GPU doubles whenever it is full: eight times in the first part of the run, then
all keys are known and it stays. At each doubling old and new exist together for a moment."""

from cuda.bindings import driver


def ok(answer):
    error, *values = answer
    assert error == driver.CUresult.CUDA_SUCCESS, error
    return values[0] if len(values) == 1 else values


def main() -> None:
    ok(driver.cuInit(0))
    ok(driver.cuCtxSetCurrent(ok(driver.cuDevicePrimaryCtxRetain(0))))
    room, keys = 2 << 20, 0
    table = ok(driver.cuMemAlloc(room))
    for batch in range(600):
        keys = min(keys + (3 << 20), 400 << 20)
        while room < keys:
            larger = ok(driver.cuMemAlloc(2 * room))
            ok(driver.cuMemcpyDtoD(larger, table, 1 << 20))
            ok(driver.cuMemFree(table))
            table, room = larger, 2 * room
        scratch = ok(driver.cuMemAlloc(8 << 20))
        ok(driver.cuCtxSynchronize())
        ok(driver.cuMemFree(scratch))
    ok(driver.cuMemFree(table))
    print("room", room)


main()
