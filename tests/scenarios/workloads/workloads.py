"""Workloads whose allocator history a replay must reproduce: one function each.

Those that only train are in training.py, which also says what a `recorder` is.
"""

import random

import torch

import training
from training import MIB, bytes_on_device, full_precision_step, language_model, train_step


def streams(recorder) -> None:
    """Three streams; blocks made on one and used on others are freed while in use."""
    first, second = torch.cuda.Stream(), torch.cuda.Stream()
    model, optimizer = language_model(layers=2)
    for number in range(8):
        held = [bytes_on_device(random.uniform(0.1, 90)) for _ in range(6)]
        for stream in (first, second):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                torch.cuda._sleep(100_000_000)
                for tensor in held:
                    tensor.record_stream(stream)
                    own = tensor[: tensor.numel() // 2] + 1
                    own.record_stream(torch.cuda.current_stream())
                del own
        del held, tensor  # both streams are still asleep
        train_step(model, optimizer, 4, 128 + 16 * number)
        recorder.step()
        if number % 3 == 2:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    last = bytes_on_device(1)
    del last


def empty_cache(recorder) -> None:
    """The cache is given back after some steps, in the middle of others."""
    model, optimizer = language_model()
    for number in range(8):
        train_step(model, optimizer, 8, random.randint(64, 480))
        recorder.step()
        kept = [bytes_on_device(random.uniform(0.2, 80)) for _ in range(8)]
        del kept[::2]
        if number % 2:
            recorder.call("empty_cache", torch.cuda.empty_cache)
            recorder.step()
        del kept
        large = bytes_on_device(200)  # expandable: spans what was given back and what was kept
        del large
    recorder.call("empty_cache", torch.cuda.empty_cache)
    recorder.call("empty_cache", torch.cuda.empty_cache)  # there is nothing left to give back
    recorder.step()


def in_pool(pool, sizes):
    with torch.cuda.use_mem_pool(pool):
        return [bytes_on_device(mib) for mib in sizes]


def memory_pool(recorder) -> None:
    """Private pools: one lasts, one is released, one is released with a block in use."""
    model, optimizer = language_model()
    lasting, brief = [torch.cuda.MemPool()], [torch.cuda.MemPool()]

    def release(pools):
        recorder.call("release_pool", pools.clear, pool=list(pools[0].id))
        recorder.step()

    for number in range(6):
        sizes = [random.uniform(0.001, 90) for _ in range(6)]
        in_lasting = in_pool(lasting[0], sizes)
        in_brief = in_pool(brief[0], sizes[::2])
        train_step(model, optimizer, 8, random.randint(64, 480))
        with torch.cuda.use_mem_pool(lasting[0]):
            full_precision_step(model, optimizer, 2, 64)
        recorder.step()
        if number in (2, 4):
            del in_brief[1:]
            in_use = in_brief.pop() if number == 4 else None  # its segment outlives the pool
            in_brief.clear()
            release(brief)
            brief.append(torch.cuda.MemPool())
    del in_lasting, in_brief, in_use
    recorder.call("empty_cache", torch.cuda.empty_cache)
    recorder.step()
    release(lasting)
    release(brief)


def out_of_memory(recorder) -> None:
    """Batches double until one fails; training goes on with half of it."""
    model, optimizer = language_model()
    batch = 8
    for _ in range(10):
        try:
            full_precision_step(model, optimizer, batch, 400)
            batch *= 2
        except torch.OutOfMemoryError:
            recorder.failures += 1
            batch = batch // 2 - 3
        optimizer.zero_grad(set_to_none=True)
        recorder.step()

    # Expandable: holes between pages that are in use. The request fills some before it fails.
    pieces = [bytes_on_device(30) for _ in range(8)]
    del pieces[::2]
    recorder.call("empty_cache", torch.cuda.empty_cache)
    del pieces
    try:
        bytes_on_device(3680)
    except torch.OutOfMemoryError:
        recorder.failures += 1
    recorder.step()


def copies(recorder) -> None:
    """To the device and back, from pinned memory and from pageable."""
    kept = []
    for number in range(24):
        host = [torch.zeros(random.randint(1000, 24 * MIB), dtype=torch.uint8) for _ in range(6)]
        pinned = [tensor.pin_memory() for tensor in host[:3]]
        device = [tensor.to("cuda", non_blocking=True) for tensor in pinned]
        device += [tensor.to("cuda") for tensor in host[3:]]
        wide = device[0].to(torch.float32)
        joined = torch.cat(device)
        kept.append(joined[: MIB * number + 1].clone())
        back = [joined.cpu(), wide.to("cpu", non_blocking=True)]
        torch.cuda.synchronize()
        del device, wide, joined, back
        if number % 4 == 3:
            del kept[0]
        recorder.step()


ALL = {
    function.__name__: function
    for function in (
        training.fixed,
        training.variable,
        training.checkpointing,
        training.adapters,
        training.mixed_precision,
        training.convolution,
        streams,
        empty_cache,
        memory_pool,
        out_of_memory,
        copies,
    )
}
