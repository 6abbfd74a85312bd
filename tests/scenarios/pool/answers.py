"""torch.cuda's questions about memory under the pool: each is answered, and the answers agree."""

import json
import os
import pickle
import sys
import tempfile

import torch

MIB = 1 << 20
cuda = torch.cuda


def empty(megabytes):
    return torch.empty(megabytes * MIB, dtype=torch.uint8, device="cuda")


def figures():
    """What is allocated and reserved, now and at the peak."""
    held = [empty(30), empty(3)]
    del held[0]
    assert cuda.memory_allocated() == 3 * MIB, cuda.memory_allocated()
    assert cuda.max_memory_allocated() == 33 * MIB, cuda.max_memory_allocated()
    assert 33 * MIB <= cuda.memory_reserved() <= 36 * MIB, cuda.memory_reserved()
    cuda.empty_cache()
    assert cuda.memory_reserved() <= 4 * MIB, "idle pages go back"
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == 3 * MIB
    statistics = cuda.memory_stats()
    assert statistics["allocation.all.current"] == 1
    assert statistics["allocation.all.allocated"] == 2
    cuda.reset_accumulated_memory_stats()
    assert cuda.memory_stats()["allocation.all.allocated"] == 0
    assert "memory summary" in cuda.memory_summary()
    if hasattr(torch.accelerator, "memory_allocated"):
        assert torch.accelerator.memory_allocated() == 3 * MIB
    return len(statistics)


def snapshot():
    """The blocks, as memory_viz and `whyoom why` read them."""
    held = empty(5)
    blocks = [block for segment in cuda.memory_snapshot() for block in segment["blocks"]]
    mine = [block for block in blocks if block["address"] == held.data_ptr()]
    assert [block["size"] for block in mine] == [5 * MIB], mine
    assert mine[0]["state"] == "active_allocated"
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "snapshot.pickle")
        cuda.memory._record_memory_history()
        cuda.memory._dump_snapshot(path)
        with open(path, "rb") as file:
            assert pickle.load(file)["segments"]
    return len(blocks)


def graphs():
    """A captured graph, and a second one in its pool."""
    source = torch.ones(1000, device="cuda")
    first, second = cuda.CUDAGraph(), cuda.CUDAGraph()
    with cuda.graph(first):
        left = source * 2
    with cuda.graph(second, pool=first.pool()):
        right = source + left
    first.replay()
    second.replay()
    cuda.synchronize()
    return right.numel()


def failures():
    """PyTorch's own exception, in the program and in its backward, and the program goes on."""
    cuda.set_per_process_memory_fraction(0.5)
    assert abs(cuda.get_per_process_memory_fraction() - 0.5) < 0.01
    cuda.set_per_process_memory_fraction(1.0)
    before = cuda.memory_stats()["num_ooms"]
    texts = []
    try:
        empty(1 << 20)
    except torch.OutOfMemoryError as error:
        texts.append(str(error))
    few = torch.ones(1 << 20, device="cuda", requires_grad=True)
    many = torch.sigmoid(few).unsqueeze(0).expand(1 << 18, 1 << 20)
    try:
        # The gradient of what was expanded has to be made in full: 1 TiB.
        many[0].sum().backward()
    except torch.OutOfMemoryError as error:
        texts.append(str(error))
    assert len(texts) == 2 and all("out of memory" in text for text in texts), texts
    assert cuda.memory_stats()["num_ooms"] == before + 2
    assert empty(1).numel() == MIB
    return len(texts)


def main():
    assert cuda.memory.get_allocator_backend() == "pluggable", "the pool is not there"
    answers = {part.__name__: part() for part in (figures, snapshot, graphs, failures)}
    torch.backends.cudnn.benchmark = True
    layer = torch.nn.Conv2d(3, 8, 3).cuda()
    layer(torch.ones(1, 3, 32, 32, device="cuda"))
    other = cuda.Stream()
    held = empty(2)
    held.record_stream(other)
    print(json.dumps(answers))


if __name__ == "__main__":
    sys.exit(main())
