"""Streams and events: memory used on a second stream is reused only after it is done."""

import torch

from models import report

SIZE = 64 << 20


def active() -> int:
    """Bytes in blocks that cannot be handed out again yet."""
    return torch.cuda.memory_stats()["active_bytes.all.current"]


def main() -> None:
    side = torch.cuda.Stream()
    started, finished = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    shared = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        started.record()
        own = shared + 1
        finished.record()
    shared.record_stream(side)

    # Each stream has segments of its own.
    owners = {segment["stream"] for segment in torch.cuda.memory_snapshot()}
    assert owners == {0, side.cuda_stream}, f"segments belong to streams {owners}"

    # Freed by Python, but the other stream may still be reading it.
    del shared
    assert torch.cuda.memory_allocated() == SIZE, "the freed tensor still counts as allocated"
    pending = active() - torch.cuda.memory_allocated()
    assert pending == SIZE, f"{pending} bytes are pending, expected {SIZE}"

    torch.cuda.synchronize()
    assert finished.query(), "the event must be done after synchronize"
    assert started.elapsed_time(finished) >= 0, "time ran backwards"
    # The allocator looks at its events when it is next asked for memory.
    reserved = torch.cuda.memory_reserved()
    reused = torch.empty(SIZE, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_reserved() == reserved, "the freed block was not used again"
    assert active() == own.numel() + reused.numel(), f"{active()} bytes are active"

    del own, reused
    torch.cuda.empty_cache()
    left = torch.cuda.memory_reserved()
    assert left == 0, f"{left} bytes stay reserved"
    report({"streams": len(owners), "pending": pending, "reserved": reserved})


if __name__ == "__main__":
    main()
