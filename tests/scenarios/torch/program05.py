"""A pinned tensor, copied to the GPU and back. True: nothing is wrong, and the
copy that comes back is not pinned."""

import torch

from models import report

SIZE = 64 << 20


def main() -> None:
    source = torch.arange(SIZE // 8, dtype=torch.int64).pin_memory()
    on_device = source.to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    returned = on_device.cpu()
    assert source.is_pinned(), "the source must be pinned"
    assert not returned.is_pinned(), "the copy back is in ordinary memory"
    assert torch.equal(returned, source), "what came back differs"

    host = torch.cuda.host_memory_stats()
    pinned = host["active_bytes.current"]
    assert pinned == SIZE, f"{pinned} bytes are pinned, expected {SIZE}"
    allocated = torch.cuda.memory_allocated()
    assert allocated == SIZE, f"{allocated} bytes on the device, expected {SIZE}"
    # Dropping the source returns its pages to PyTorch's cache, still pinned.
    del source
    kept = torch.cuda.host_memory_stats()["allocated_bytes.current"]
    assert kept >= SIZE, f"the cache of pinned memory holds {kept}"
    report(
        {
            "cause": "healthy",
            "pinned_in_use": pinned,
            "pinned_cached_after_del": kept,
            "allocated": allocated,
            "copy_back_pinned": returned.is_pinned(),
        }
    )


if __name__ == "__main__":
    main()
