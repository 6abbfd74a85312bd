"""torch.cuda's memory functions, answered from the pool.

torch refuses most of them under an allocator that is not its own. They all ask `torch._C`, where the
functions are replaced: `torch.cuda.memory_summary`, `torch.accelerator.memory_stats` and so on stay torch's own.
"""

from . import _pool_refusals
from ._pool_snapshot import snapshot

PAGE = 2 << 20
CLASSES = {"small_pool": 0, "large_pool": 1}


def install(torch, pool):
    """Puts the answers in the place of the functions that torch refuses."""
    devices = torch.cuda.device_count
    answers = {
        "_cuda_memoryStats": lambda device: statistics(pool.statistics(device)),
        "_cuda_resetPeakMemoryStats": pool.reset_peaks,
        "_cuda_resetAccumulatedMemoryStats": pool.reset_totals,
        "_cuda_memorySnapshot": lambda *which: snapshot(pool, devices(), *which),
        "_cuda_getMemoryFraction": lambda device: fraction(pool.statistics(device)),
        # torch.accelerator still asks the allocator that was replaced.
        "_accelerator_getDeviceStats": lambda device: statistics(pool.statistics(device)),
        "_accelerator_resetPeakStats": pool.reset_peaks,
        "_accelerator_resetAccumulatedStats": pool.reset_totals,
        "_accelerator_isAllocatorInitialized": torch.cuda.is_initialized,
        "_accelerator_emptyCache": torch._C._cuda_emptyCache,
    }
    for name, answer in answers.items():
        # What this version of torch does not have, nobody asks for.
        if hasattr(torch._C, name):
            setattr(torch._C, name, answer)
    _pool_refusals.install(torch)


def fraction(figures):
    if not figures.cap or not figures.device_total:
        return 1.0
    return min(figures.cap / figures.device_total, 1.0)


def statistics(figures):
    """The nested dictionary of torch._C._cuda_memoryStats.

    Peaks by size of request are not kept: there the peak is what is current. What has no meaning in a pool
    whose pages move is 0, as with torch's own backend cudaMallocAsync. Segments are pages of 2 MiB.
    """
    f = figures
    freed_bytes = sum(f.class_freed_bytes)
    allocated_bytes = metrics(
        (f.allocated, f.peak_allocated, sum(f.class_allocated_bytes), freed_bytes),
        lambda i: (f.class_allocated[i], f.class_allocated_bytes[i], f.class_freed_bytes[i]),
    )
    allocation = metrics(
        (f.blocks, f.peak_blocks, f.allocations, f.frees),
        lambda i: (f.class_blocks[i], f.class_allocations[i], f.class_frees[i]),
    )
    reserved_bytes = metrics(
        (f.reserved, f.peak_reserved, f.creates * PAGE, f.releases * PAGE),
        lambda i: (f.class_reserved[i], f.class_reserved[i], 0),
    )
    segment = {
        of: {name: figure // PAGE for name, figure in metric.items()}
        for of, metric in reserved_bytes.items()
    }
    # What was asked for is at most 511 bytes a block less than what was allocated.
    requested_bytes = {of: dict(metric) for of, metric in allocated_bytes.items()}
    requested_bytes["all"]["current"] = f.requested
    # What waits for other streams is still active.
    active_bytes = {of: dict(metric) for of, metric in allocated_bytes.items()}
    active_bytes["all"]["current"] += f.pending
    active_bytes["all"]["peak"] = max(f.peak_allocated, active_bytes["all"]["current"])
    return {
        "allocation": allocation,
        "allocated_bytes": allocated_bytes,
        "active": allocation,
        "active_bytes": active_bytes,
        "requested_bytes": requested_bytes,
        "reserved_bytes": reserved_bytes,
        "segment": segment,
        "inactive_split": metrics((0, 0, 0, 0), lambda _: (0, 0, 0)),
        "inactive_split_bytes": metrics((0, 0, 0, 0), lambda _: (0, 0, 0)),
        "oversize_allocations": metric(0, 0, 0, 0),
        "oversize_segments": metric(0, 0, 0, 0),
        "max_split_size": -1,
        "num_alloc_retries": f.retries,
        "num_ooms": f.failures,
        "num_oom_rejections": 0,
        "num_sync_all_streams": f.waits,
        "num_device_alloc": f.creates,
        "num_device_free": f.releases,
        "reserved_bytes_by_private_pools": {},
    }


def metrics(total, of_class):
    """One figure, of everything and by size of request: (current, allocated, freed) of a class."""
    answer = {"all": metric(*total)}
    for name, index in CLASSES.items():
        current, allocated, freed = of_class(index)
        answer[name] = metric(current, current, allocated, freed)
    return answer


def metric(current, peak, allocated, freed):
    return {"current": current, "peak": peak, "allocated": allocated, "freed": freed}
