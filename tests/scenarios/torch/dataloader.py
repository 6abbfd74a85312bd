"""Forked workers, pinned batches, asynchronous copies: the data arrives intact."""

import json
import torch
from torch.utils.data import DataLoader, TensorDataset


ROWS, COLUMNS, BATCH = 1024, 512, 64


def main() -> None:
    # A context exists before the fork, as in most training programs; the
    # workers must get along with it without touching it.
    torch.cuda.init()
    free_before, _ = torch.cuda.mem_get_info()
    source = torch.arange(ROWS * COLUMNS, dtype=torch.int64).view(ROWS, COLUMNS)
    loader = DataLoader(
        TensorDataset(source),
        batch_size=BATCH,
        num_workers=2,
        multiprocessing_context="fork",
        pin_memory=True,
    )
    returned = []
    for (batch,) in loader:
        assert batch.is_pinned(), "pin_memory=True must give pinned batches"
        on_device = batch.to("cuda", non_blocking=True)
        torch.cuda.synchronize()
        returned.append(on_device.cpu())
    assert torch.equal(torch.cat(returned), source), "what came back differs from the source"

    batch_bytes = BATCH * COLUMNS * 8
    peak = torch.cuda.max_memory_allocated()
    # A new batch is allocated while the name still holds the previous one.
    assert peak == 2 * batch_bytes, f"peak {peak}, expected two batches of {batch_bytes}"
    fell = free_before - torch.cuda.mem_get_info()[0]
    reserved = torch.cuda.memory_reserved()
    assert fell == reserved, f"free memory fell by {fell}, but only {reserved} are reserved"
    pinned = torch.cuda.host_memory_stats()["allocated_bytes.peak"]
    assert pinned >= batch_bytes, f"only {pinned} bytes were ever pinned"
    figures = {
        "batches": len(returned),
        "batch_bytes": batch_bytes,
        "peak_allocated": peak,
        "reserved": reserved,
        "peak_pinned": pinned,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
