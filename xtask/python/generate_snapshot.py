"""Writes a synthetic PyTorch memory snapshot of about N trace entries, in the shape of real ones.

usage: generate_snapshot.py ENTRIES FILE

As in real files: frames are shared objects; each allocation has a list of frames of its own, the two
entries of a free share one; the sizes are a transformer's; everything is in one process's segments.
"""

import pickle
import random
import sys

SEGMENT = 1 << 30
STACKS = 128
FRAMES_PER_STACK = 42


def make_frames(rng):
    pool = [
        {"name": f"at::native::function_{i}(at::Tensor const&)", "filename": "??", "line": 0}
        for i in range(600)
    ] + [
        {"name": "forward", "filename": f"/home/user/project/model_{i}.py", "line": 10 + i}
        for i in range(100)
    ]
    return [[rng.choice(pool) for _ in range(FRAMES_PER_STACK)] for _ in range(STACKS)]


class Device:
    """Hands out 2 MiB slots of large segments: enough of an allocator for a consistent file."""

    def __init__(self):
        self.free = []
        self.segments = []
        self.live = {}

    def alloc(self, size, stack):
        if not self.free:
            base = 0x7F0000000000 + len(self.segments) * SEGMENT
            self.segments.append(base)
            self.free = [base + offset for offset in range(0, SEGMENT, 4 << 20)]
            self.free.reverse()
        address = self.free.pop()
        self.live[address] = (size, stack)
        return address


def main():
    entries_wanted, path = int(sys.argv[1]), sys.argv[2]
    rng = random.Random(7)
    stacks = make_frames(rng)
    device, trace, clock = Device(), [], 1_700_000_000_000_000
    order = []

    def entry(action, addr, size, frames):
        trace.append(
            {
                "action": action,
                "addr": addr,
                "size": size,
                "stream": 0,
                "time_us": clock,
                "compile_context": "N/A",
                "user_metadata": "",
                "frames": frames,
            }
        )

    while len(trace) < entries_wanted:
        clock += rng.randrange(5, 60)
        if len(order) < 400 or rng.random() < 0.5:
            size = rng.choice((2 << 20, 3 << 20, (2 << 20) + 4096))
            stack = rng.choice(stacks)
            segments = len(device.segments)
            address = device.alloc(size, stack)
            if len(device.segments) > segments:
                entry("segment_alloc", device.segments[-1], SEGMENT, list(stack))
            entry("alloc", address, size, list(stack))
            order.append(address)
        else:
            address = order.pop(rng.randrange(len(order)))
            size, stack = device.live.pop(address)
            device.free.append(address)
            frames = list(stack)
            entry("free_requested", address, size, frames)
            entry("free_completed", address, size, frames)

    with open(path, "wb") as file:
        pickle.dump(
            {
                "segments": [segment(base, device.live) for base in device.segments],
                "device_traces": [trace],
                "allocator_settings": {"max_split_size": -1, "expandable_segments": False},
                "external_annotations": [],
            },
            file,
        )


def segment(base, live):
    blocks, cursor, end = [], base, base + SEGMENT

    def block(address, size, requested, state, frames):
        blocks.append(
            {
                "address": address,
                "size": size,
                "requested_size": requested,
                "state": state,
                "frames": frames,
            }
        )

    for address in sorted(a for a in live if base <= a < end):
        size, stack = live[address]
        if address > cursor:
            block(cursor, address - cursor, 0, "inactive", [])
        rounded = (size + 511) // 512 * 512
        # A remainder of at most 1 MiB is not split off.
        following = [a for a in (address + (4 << 20),) if a in live or a == end]
        if following and following[0] - (address + rounded) <= 1 << 20:
            rounded = following[0] - address
        block(address, rounded, size, "active_allocated", list(stack))
        cursor = address + rounded
    if cursor < end:
        block(cursor, end - cursor, 0, "inactive", [])
    active = sum(b["size"] for b in blocks if b["state"] == "active_allocated")
    return {
        "device": 0,
        "address": base,
        "total_size": SEGMENT,
        "allocated_size": active,
        "active_size": active,
        "requested_size": sum(b["requested_size"] for b in blocks),
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
    }


if __name__ == "__main__":
    main()
