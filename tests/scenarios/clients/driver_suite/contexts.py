"""Contexts: primary and created ones, what is current, what ends with them, and fork."""

import os
import threading

from cuda.bindings import driver as cu

from .checks import INVALID_CONTEXT, MIB, SUCCESS, Checks, about, free_bytes, ok, primary_context


def current() -> int:
    return int(ok(cu.cuCtxGetCurrent()))


def primary(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    checks.equal("inactive at first", ok(cu.cuDevicePrimaryCtxGetState(device))[1], 0)
    checks.answers("release without retain", cu.cuDevicePrimaryCtxRelease(device), INVALID_CONTEXT)
    first = ok(cu.cuDevicePrimaryCtxRetain(device))
    checks.equal("active when retained", ok(cu.cuDevicePrimaryCtxGetState(device))[1], 1)
    checks.equal("retaining pushes nothing", current(), 0)
    second = ok(cu.cuDevicePrimaryCtxRetain(device))
    checks.equal("one primary context per device", int(second), int(first))
    ok(cu.cuDevicePrimaryCtxRelease(device))
    checks.equal("active while retained once", ok(cu.cuDevicePrimaryCtxGetState(device))[1], 1)
    ok(cu.cuDevicePrimaryCtxRelease(device))
    checks.equal("inactive after the last release", ok(cu.cuDevicePrimaryCtxGetState(device))[1], 0)


def no_current_context(checks: Checks) -> None:
    checks.equal("nothing is current", current(), 0)
    checks.answers("allocation", cu.cuMemAlloc(MIB), INVALID_CONTEXT)
    checks.answers("free and total", cu.cuMemGetInfo(), INVALID_CONTEXT)
    checks.answers("synchronize", cu.cuCtxSynchronize(), INVALID_CONTEXT)
    checks.answers("device of the context", cu.cuCtxGetDevice(), INVALID_CONTEXT)
    checks.answers("unbinding nothing", cu.cuCtxSetCurrent(cu.CUcontext(0)), SUCCESS)


def stack_of_contexts(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    with primary_context() as outer:
        inner = ok(cu.cuCtxCreate(None, 0, device))
        checks.equal("a created context is current", current(), int(inner))
        checks.equal("popping gives it", int(ok(cu.cuCtxPopCurrent())), int(inner))
        checks.equal("and makes the one below current", current(), int(outer))
        ok(cu.cuCtxPushCurrent(inner))
        checks.equal("its device", int(ok(cu.cuCtxGetDevice())), int(device))
        ok(cu.cuCtxSetCurrent(outer))
        checks.equal("setting replaces the top", current(), int(outer))
        ok(cu.cuCtxSetCurrent(inner))
        ok(cu.cuCtxDestroy(inner))
        checks.equal("destroying the current one pops it", current(), int(outer))


def current_is_per_thread(checks: Checks) -> None:
    seen = []
    with primary_context():
        thread = threading.Thread(target=lambda: seen.append(current()))
        thread.start()
        thread.join()
    checks.equal("a new thread has no context", seen, [0])


def destroyed_elsewhere(checks: Checks) -> None:
    """A context that ends while it is current to another thread."""
    context = ok(cu.cuCtxCreate(None, 0, ok(cu.cuDeviceGet(0))))
    ok(cu.cuCtxPopCurrent())
    bound, destroyed, seen = threading.Event(), threading.Event(), []

    def other() -> None:
        ok(cu.cuCtxSetCurrent(context))
        bound.set()
        destroyed.wait(10)
        seen.append(cu.cuMemAlloc(MIB))

    thread = threading.Thread(target=other)
    thread.start()
    bound.wait(10)
    ok(cu.cuCtxDestroy(context))
    destroyed.set()
    thread.join()
    gone = cu.CUresult.CUDA_ERROR_CONTEXT_IS_DESTROYED
    checks.answers("the other thread's allocation", seen[0], gone)


def memory_ends_with_its_context(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    with primary_context():
        before = free_bytes()
        context = ok(cu.cuCtxCreate(None, 0, device))
        ok(cu.cuMemAlloc(128 * MIB))
        checks.that("128 MiB are taken", before - free_bytes() >= 128 * MIB)
        ok(cu.cuCtxDestroy(context))
        checks.that("and back after cuCtxDestroy", about(before, free_bytes()))


def reset_of_the_primary(checks: Checks) -> None:
    device = ok(cu.cuDeviceGet(0))
    watcher = ok(cu.cuCtxCreate(None, 0, device))
    with primary_context():
        ok(cu.cuMemAlloc(128 * MIB))
        ok(cu.cuCtxSetCurrent(watcher))
        before = free_bytes()
        ok(cu.cuDevicePrimaryCtxReset(device))
        checks.that("a reset frees the allocations", free_bytes() - before >= 128 * MIB)
    ok(cu.cuCtxDestroy(watcher))


def forked_child(checks: Checks) -> None:
    """The reference says nothing of fork, and guidelines call it undefined; drivers answer with
    error 3 (seen in pytorch/pytorch#17357), and programs rely on meeting it."""
    with primary_context():
        child = os.fork()
        if child == 0:
            code = 255
            try:
                code = int(cu.cuMemAlloc(MIB)[0])
            finally:
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        checks.equal("allocation in the child", status, int(cu.CUresult.CUDA_ERROR_NOT_INITIALIZED))
        pointer = ok(cu.cuMemAlloc(MIB))
        checks.answers("the parent goes on", cu.cuMemFree(pointer), SUCCESS)


FAMILY = [
    primary, no_current_context, stack_of_contexts, current_is_per_thread, destroyed_elsewhere,
    memory_ends_with_its_context, reset_of_the_primary, forked_child,
]
