"""What a snapshot of PyTorch's allocator says: sizes in order, and peaks.

A trace that was begun in mid-run does not say what was live at its start. The
segments at its end do: walking the events backwards from them gives the start.
"""

from dataclasses import dataclass

UNIT = 512  # the allocator rounds every request up to this
IN_USE = ("active_allocated", "active_awaiting_free", "active_pending_free")


def rounded(size: int) -> int:
    return -(-max(size, 1) // UNIT) * UNIT


@dataclass(frozen=True)
class Peaks:
    allocated: int
    reserved: int


class Trace:
    def __init__(self, snapshot: dict):
        self.segments = snapshot["segments"]
        self.events = next((trace for trace in snapshot["device_traces"] if trace), [])

    def allocations(self) -> list[dict]:
        return [event for event in self.events if event["action"] == "alloc"]

    def sizes(self) -> list[int]:
        return [event["size"] for event in self.allocations()]

    def steps(self) -> list[tuple[str, int]]:
        """Every event of the allocator: allocations, frees and segments, in order."""
        return [(event["action"], event["size"]) for event in self.events]

    def peaks(self) -> Peaks:
        blocks = (block for segment in self.segments for block in segment["blocks"])
        live = sum(rounded(b["requested_size"]) for b in blocks if b["state"] in IN_USE)
        held = sum(segment["total_size"] for segment in self.segments)
        return Peaks(
            self._peak(live, "alloc", "free_completed"),
            self._peak(held, "segment_alloc", "segment_free"),
        )

    def _peak(self, at_the_end: int, grows: str, shrinks: str) -> int:
        """The largest sum, in the units of the allocator, walking back from the end."""
        now = largest = at_the_end
        for event in reversed(self.events):
            if event["action"] in (grows, shrinks):
                now += rounded(event["size"]) * (1 if event["action"] == shrinks else -1)
                largest = max(largest, now)
        return largest


def in_order(ours: list, real: list) -> int:
    """How many of both recur in the same order: the longest common subsequence.

    Myers' greedy algorithm: its cost is the length times the number of differences.
    """
    reach = {1: 0}
    for differences in range(len(ours) + len(real) + 1):
        for diagonal in range(-differences, differences + 1, 2):
            down = diagonal == -differences
            if not down and diagonal != differences:
                down = reach[diagonal - 1] < reach[diagonal + 1]
            x = reach[diagonal + 1] if down else reach[diagonal - 1] + 1
            while x < len(ours) and 0 <= x - diagonal < len(real) and ours[x] == real[x - diagonal]:
                x += 1
            reach[diagonal] = x
            if x >= len(ours) and x - diagonal >= len(real):
                return (len(ours) + len(real) - differences) // 2
    return 0


def place(event: dict) -> list[str]:
    """Where in the program an event came from, innermost first: Python, or backward's node."""
    frames = event["frames"]
    python = [f for f in frames if f["filename"].endswith(".py") and "/nn/modules/" not in f["filename"]]
    if python:
        names = (f["filename"].replace("\\", "/").rsplit("/", 1)[-1] for f in python)
        return [f"{name}:{f['line']} {f['name']}" for name, f in zip(names, python)][:5]
    nodes = (f["name"] for f in frames if "Backward" in f["name"] or "Accumulate" in f["name"])
    return [name.split("(")[0].replace("torch::autograd::", "") for name in nodes][:2]


def first_difference(ours: Trace, real: Trace) -> dict | None:
    """Of the allocations; where these agree, of all events."""
    return parting("allocation", ours.allocations(), real.allocations()) or parting(
        "event", ours.events, real.events
    )


def parting(what: str, ours: list[dict], real: list[dict]) -> dict | None:
    mine, theirs = ([(e["action"], e["size"]) for e in events] for events in (ours, real))
    if mine == theirs:
        return None
    pairs = enumerate(zip(mine, theirs))
    index = next((i for i, (a, b) in pairs if a != b), min(len(mine), len(theirs)))
    return {
        what: index,
        "ours": mine[index : index + 4],
        "real": theirs[index : index + 4],
        "our_place": [place(event) for event in ours[index : index + 1]],
        "real_place": [place(event) for event in real[index : index + 1]],
    }
