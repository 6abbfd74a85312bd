"""CUDA graphs: capture, replay, private pools, and their memory when the graph is gone."""

import gc

import torch

from models import report

MIB = 1 << 20


def pools() -> dict[tuple, int]:
    """Reserved bytes by private pool, as the snapshot shows them."""
    totals: dict[tuple, int] = {}
    for segment in torch.cuda.memory_snapshot():
        pool = tuple(segment["segment_pool_id"])
        if pool != (0, 0):
            totals[pool] = totals.get(pool, 0) + segment["total_size"]
    return totals


def copies_replay() -> int:
    """Kernels do nothing here, copies do: a replay copies what is in its input by then."""
    source = torch.zeros(1 << 20, dtype=torch.float32, device="cuda")
    target = torch.zeros_like(source)
    other = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        # A second stream takes part, and is joined.
        other.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(other):
            target.copy_(source)
        torch.cuda.current_stream().wait_stream(other)
    assert not torch.cuda.is_current_stream_capturing()
    source.copy_(torch.arange(1 << 20, dtype=torch.float32))
    assert target.cpu().max() == 0, "a capture does nothing yet"
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(target.cpu(), torch.arange(1 << 20, dtype=torch.float32))
    return target.numel()


def private_pools() -> dict:
    """Each graph has a pool of its own unless it is given another's; their memory comes back."""
    torch.cuda.empty_cache()
    assert pools() == {}, f"no graph has a pool yet: {pools()}"
    first, second = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(first):
        left = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    with torch.cuda.graph(second, pool=first.pool()):
        right = torch.empty(64 * MIB, dtype=torch.uint8, device="cuda")
    assert pools() == {tuple(first.pool()): 128 * MIB}, f"one pool of 128 MiB: {pools()}"
    free_during = torch.cuda.mem_get_info()[0]
    del left, right
    torch.cuda.empty_cache()
    assert torch.cuda.mem_get_info()[0] == free_during, "the graphs still need their pool"
    del first, second
    gc.collect()
    torch.cuda.empty_cache()
    assert pools() == {}, f"the pool is gone with the graphs: {pools()}"
    back = torch.cuda.mem_get_info()[0] - free_during
    assert back >= 128 * MIB, f"{back} bytes came back"
    return {"private": 128 * MIB, "came_back": back}


def forbidden() -> str:
    """What a capture cannot see is refused, and ends it."""
    graph = torch.cuda.CUDAGraph()
    text = ""
    try:
        with torch.cuda.graph(graph):
            torch.cuda.synchronize()
    except RuntimeError as error:
        text = str(error).splitlines()[0]
    assert "captur" in text, f"the refusal says why: {text}"
    torch.cuda.synchronize()
    del graph
    return text


def main() -> None:
    torch.cuda.init()
    copied = copies_replay()
    memory = private_pools()
    text = forbidden()
    report({"copied": copied, "refusal": text, **memory})


if __name__ == "__main__":
    main()
