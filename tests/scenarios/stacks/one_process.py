"""Two ranks of NCCL in one process: python one_process.py. Prints how many checks held."""

import ctypes
import threading
import time

cuda, nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnccl.so.2")
nccl.ncclGetLastError.restype = ctypes.c_char_p
FLOAT, IMMEDIATE, SUM = 7, 1, 0


def done(code):
    assert code == 0, code


class Device:
    """A device with one number in its memory."""

    def __init__(self, number):
        self.context, self.memory = ctypes.c_void_p(), ctypes.c_uint64()
        done(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self.context), number))
        self.use()
        done(cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(4)))

    def use(self):
        done(cuda.cuCtxSetCurrent(self.context))

    def put(self, value):
        self.use()
        done(cuda.cuMemcpyHtoD_v2(self.memory, ctypes.byref(ctypes.c_float(value)), ctypes.c_size_t(4)))

    def get(self):
        self.use()
        value = ctypes.c_float()
        done(cuda.cuMemcpyDtoH_v2(ctypes.byref(value), self.memory, ctypes.c_size_t(4)))
        return value.value


def communicators(count):
    made = (ctypes.c_void_p * count)()
    done(nccl.ncclCommInitAll(made, count, None))
    return [ctypes.c_void_p(one) for one in made]


def all_reduce(communicator, device, operation=SUM):
    device.use()
    count = ctypes.c_size_t(1)
    return nccl.ncclAllReduce(device.memory, device.memory, count, FLOAT, operation, communicator, None)


def half(communicator):
    """The operator that multiplies by a half and adds."""
    operation, factor = ctypes.c_uint32(), ctypes.byref(ctypes.c_float(0.5))
    done(nccl.ncclRedOpCreatePreMulSum(ctypes.byref(operation), factor, FLOAT, IMMEDIATE, communicator))
    return operation


def factor_outlives_its_operator(devices, ranks):
    done(nccl.ncclGroupStart())
    for device, rank, value in zip(devices, ranks, [1.0, 2.0]):
        device.put(value)
        operation = half(rank)
        done(all_reduce(rank, device, operation))
        done(nccl.ncclRedOpDestroy(operation, rank))
    done(nccl.ncclGroupEnd())
    assert [device.get() for device in devices] == [1.5, 1.5]


def single_rank_has_its_factor(devices, ranks):
    [rank] = communicators(1)
    devices[0].put(3.0)
    done(all_reduce(rank, devices[0], half(rank)))
    assert devices[0].get() == 1.5


def split_in_a_group_is_refused(devices, ranks):
    done(nccl.ncclGroupStart())
    assert nccl.ncclCommSplit(ranks[0], 0, 0, ctypes.byref(ctypes.c_void_p()), None) == 5
    done(nccl.ncclGroupEnd())


def abort_ends_waits(devices, ranks):
    """Those of another thread, and those of the other rank."""
    results = []
    waits = threading.Thread(target=lambda: results.append(all_reduce(ranks[0], devices[0])))
    waits.start()
    time.sleep(0.5)
    done(nccl.ncclCommAbort(ranks[0]))
    waits.join()
    assert results == [5], results
    assert all_reduce(ranks[1], devices[1]) == 6
    assert b"rank 0, which has left" in nccl.ncclGetLastError(None)
    done(nccl.ncclCommDestroy(ranks[1]))


def main():
    done(cuda.cuInit(0))
    devices, ranks = [Device(number) for number in range(2)], communicators(2)
    checks = [
        factor_outlives_its_operator, single_rank_has_its_factor, split_in_a_group_is_refused, abort_ends_waits,
    ]
    for check in checks:
        check(devices, ranks)
    print(len(checks), "checks")


if __name__ == "__main__":
    main()
