"""Captures, graphs, and the memory of graphs."""

import ctypes
import threading

from cuda.bindings import driver as cu

from .checks import (
    INVALID_VALUE, MIB, SUCCESS, Checks, address, free_bytes, ok, pattern, primary_context,
    read_back,
)

MODE = cu.CUstreamCaptureMode
GLOBAL = MODE.CU_STREAM_CAPTURE_MODE_GLOBAL
RELAXED = MODE.CU_STREAM_CAPTURE_MODE_RELAXED
STATUS = cu.CUstreamCaptureStatus
ACTIVE = STATUS.CU_STREAM_CAPTURE_STATUS_ACTIVE
INVALIDATED = STATUS.CU_STREAM_CAPTURE_STATUS_INVALIDATED
RESULT = cu.CUresult
SIZE = 64 * MIB


def figure(name: str) -> int:
    which = getattr(cu.CUgraphMem_attribute, f"CU_GRAPH_MEM_ATTR_{name}")
    return int(ok(cu.cuDeviceGetGraphMemAttribute(ok(cu.cuDeviceGet(0)), which)))


def on_device(size: int):
    wanted = cu.CUDA_MEM_ALLOC_NODE_PARAMS()
    wanted.poolProps.allocType = cu.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
    wanted.poolProps.location.type = cu.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
    wanted.poolProps.location.id = 0
    wanted.bytesize = size
    return wanted


def capture(checks: Checks) -> None:
    with primary_context():
        stream = ok(cu.cuStreamCreate(1))
        device = ok(cu.cuMemAlloc(MIB))
        host = pattern(MIB)
        ok(cu.cuMemsetD8(device, 0, MIB))
        ok(cu.cuStreamBeginCapture(stream, GLOBAL))
        checks.equal("is capturing", ok(cu.cuStreamIsCapturing(stream)), ACTIVE)
        ok(cu.cuMemcpyHtoDAsync(device, address(host), MIB, stream))
        ok(cu.cuMemsetD8Async(device, 7, 16, stream))
        information = ok(cu.cuStreamGetCaptureInfo(stream))
        checks.equal("one node is waited for", len(information[3]), 1)
        checks.that("the capture has a number", int(information[1]) > 0)
        graph = ok(cu.cuStreamEndCapture(stream))
        checks.equal("nothing was done yet", read_back(device, 32), bytes(32))
        _, count = ok(cu.cuGraphGetNodes(graph))
        checks.equal("two nodes", int(count), 2)
        executable = ok(cu.cuGraphInstantiate(graph, 0))
        ok(cu.cuGraphLaunch(executable, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("done in order", read_back(device, 32), bytes([7] * 16) + host.raw[16:32])
        ok(cu.cuGraphExecDestroy(executable))
        ok(cu.cuGraphDestroy(graph))
        ok(cu.cuMemFree(device))
        ok(cu.cuStreamDestroy(stream))


def forbidden(checks: Checks) -> None:
    unsupported = RESULT.CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
    with primary_context() as context:
        stream = ok(cu.cuStreamCreate(1))
        ok(cu.cuStreamBeginCapture(stream, GLOBAL))
        checks.equal("an allocation", cu.cuMemAlloc(MIB)[0], unsupported)
        checks.equal("the capture is lost", ok(cu.cuStreamIsCapturing(stream)), INVALIDATED)
        ended = cu.cuStreamEndCapture(stream)
        checks.equal("and ends so", ended[0], RESULT.CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
        for name, call in (
            ("waiting for the stream", lambda: cu.cuStreamSynchronize(stream)),
            ("asking about the stream", lambda: cu.cuStreamQuery(stream)),
            ("waiting for the context", cu.cuCtxSynchronize),
        ):
            ok(cu.cuStreamBeginCapture(stream, RELAXED))
            checks.equal(name, call()[0], unsupported)
            checks.refused(f"{name} ends the capture", cu.cuStreamEndCapture(stream))
        ok(cu.cuStreamBeginCapture(stream, RELAXED))
        checks.equal("a relaxed capture allows it", cu.cuMemAlloc(MIB)[0], SUCCESS)
        ok(cu.cuStreamEndCapture(stream))

        blocking = ok(cu.cuStreamCreate(0))
        ok(cu.cuStreamBeginCapture(blocking, RELAXED))
        memory = ok(cu.cuMemAlloc(MIB))
        implicit = RESULT.CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
        checks.equal("the legacy stream", cu.cuMemsetD8Async(memory, 0, MIB, 0)[0], implicit)
        checks.refused("it ends the capture", cu.cuStreamEndCapture(blocking))
        checks.equal("context is none the worse", cu.cuCtxSynchronize()[0], SUCCESS)

        ok(cu.cuStreamBeginCapture(stream, GLOBAL))
        answers = []

        def elsewhere() -> None:
            ok(cu.cuCtxSetCurrent(context))
            answers.append(cu.cuStreamEndCapture(stream)[0])
            answers.append(cu.cuMemAlloc(MIB)[0])

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        wrong = RESULT.CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
        checks.equal("another thread", answers, [wrong, unsupported])
        cu.cuStreamEndCapture(stream)


def memory_nodes(checks: Checks) -> None:
    with primary_context():
        stream = ok(cu.cuStreamCreate(1))
        ok(cu.cuDeviceGraphMemTrim(ok(cu.cuDeviceGet(0))))
        before = free_bytes()
        graph = ok(cu.cuGraphCreate(0))
        wanted = on_device(SIZE)
        alloc = ok(cu.cuGraphAddMemAllocNode(graph, None, 0, wanted))
        pointer = int(wanted.dptr)
        checks.that("its address is known at once", pointer != 0)
        fill = cu.CUDA_MEMSET_NODE_PARAMS()
        fill.dst, fill.value, fill.elementSize, fill.width, fill.height = pointer, 9, 1, 64, 1
        context = ok(cu.cuCtxGetCurrent())
        ok(cu.cuGraphAddMemsetNode(graph, [alloc], 1, fill, context))
        checks.answers("a clone", cu.cuGraphClone(graph), INVALID_VALUE)
        checks.answers("the end of a node", cu.cuGraphDestroyNode(alloc), INVALID_VALUE)
        executable = ok(cu.cuGraphInstantiate(graph, 0))
        checks.answers("a second instance", cu.cuGraphInstantiate(graph, 0), INVALID_VALUE)
        checks.equal("no memory before a launch", figure("RESERVED_MEM_CURRENT"), 0)
        ok(cu.cuGraphLaunch(executable, stream))
        ok(cu.cuStreamSynchronize(stream))
        checks.equal("memory with it", figure("RESERVED_MEM_CURRENT"), SIZE)
        checks.equal("which is missing", before - free_bytes(), SIZE)
        checks.equal("and was filled", read_back(pointer, 64), bytes([9] * 64))
        again = cu.cuGraphLaunch(executable, stream)
        checks.answers("a launch before the free", again, INVALID_VALUE)
        ok(cu.cuMemFreeAsync(pointer, stream))
        ok(cu.cuGraphLaunch(executable, stream))
        checks.equal("the same memory again", figure("RESERVED_MEM_CURRENT"), SIZE)
        ok(cu.cuMemFree(pointer))
        ok(cu.cuGraphExecDestroy(executable))
        ok(cu.cuGraphDestroy(graph))
        checks.equal("kept for graphs", figure("RESERVED_MEM_CURRENT"), SIZE)
        checks.equal("in none of them", figure("USED_MEM_CURRENT"), 0)
        ok(cu.cuDeviceGraphMemTrim(ok(cu.cuDeviceGet(0))))
        checks.equal("until trimmed", free_bytes(), before)
        checks.equal("the most was", figure("RESERVED_MEM_HIGH"), SIZE)


def user_objects(checks: Checks) -> None:
    ended = threading.Event()

    @ctypes.CFUNCTYPE(None, ctypes.c_void_p)
    def destroy(_data) -> None:
        ended.set()

    with primary_context():
        graph = ok(cu.cuGraphCreate(0))
        function = cu.CUhostFn(_ptr=ctypes.addressof(destroy))
        no_sync = cu.CUuserObject_flags.CU_USER_OBJECT_NO_DESTRUCTOR_SYNC
        created = ok(cu.cuUserObjectCreate(0, function, 1, no_sync))
        move = cu.CUuserObjectRetain_flags.CU_GRAPH_USER_OBJECT_MOVE
        ok(cu.cuGraphRetainUserObject(graph, created, 1, move))
        executable = ok(cu.cuGraphInstantiate(graph, 0))
        ok(cu.cuGraphDestroy(graph))
        checks.that("the executable graph keeps it", not ended.wait(0.2))
        ok(cu.cuGraphExecDestroy(executable))
        checks.that("its end is called", ended.wait(5))


FAMILY = [capture, forbidden, memory_nodes, user_objects]
