"""What must hold of every recorded run, else it proves nothing about a replay."""

from collections import Counter

MIB = 1 << 20
GROWS, SHRINKS = {"segment_alloc", "segment_map"}, {"segment_free", "segment_unmap"}
MAX_SPLIT = 64 * MIB
LIVELY = 300  # events; a run with fewer says little


def reserved_changes(history: list[dict]) -> list[list[int]]:
    """[index of the event, bytes reserved after it] for each event that changes them."""
    reserved, changes = 0, []
    for index, entry in enumerate(history):
        sign = (entry["action"] in GROWS) - (entry["action"] in SHRINKS)
        if sign:
            reserved += sign * entry["size"]
            changes.append([index, reserved])
    return changes


def check_samples(run: dict, history: list[dict]) -> None:
    """The history's own sum is PyTorch's figure, and markers say what is active."""
    after = dict(run["reserved_changes"])
    wanted = {sample["event_index"]: sample for sample in run["samples"]}
    reserved = 0
    for index, entry in enumerate(history):
        reserved = after.get(index, reserved)
        sample = wanted.pop(index, None)
        if sample:
            assert reserved == sample["reserved"], f"event {index}: {reserved}, {sample}"
            assert entry["size"] == sample["active"], f"event {index}: {entry}, {sample}"
    assert not wanted, "samples after the end of the history"


def check_whole(run: dict, snapshot: dict, history: list[dict]) -> None:
    """Nothing is missing at the start (the history is a ring), in between, or at the end."""
    assert run["samples"][0]["reserved"] == 0, "something was reserved before the recording"
    live, pending = {}, set()
    for index, entry in enumerate(history):
        address, action = entry.get("addr"), entry["action"]
        if action == "alloc":
            assert address not in live and address not in pending, f"event {index}: in use"
            live[address] = entry["size"]
        elif action == "free_requested":
            assert live.pop(address, None) == entry["size"], f"event {index}: not live"
            pending.add(address)
        elif action == "free_completed":
            assert address in pending, f"event {index}: no free was requested"
            pending.remove(address)
    blocks = [b for s in snapshot["segments"] for b in s["blocks"]]
    held = {b["address"]: b["requested_size"] for b in blocks if b["state"] == "active_allocated"}
    assert held == live, "the history does not end in the snapshot's state"
    total = sum(segment["total_size"] for segment in snapshot["segments"])
    end = run["reserved_changes"][-1][1]
    assert total == end, f"segments hold {total} bytes, the history {end}"


def outside_calls(run: dict, history: list[dict], actions: set[str]) -> list[int]:
    """Indices of events that no recorded call explains."""
    spans = [(call["event_index"], call["end_index"]) for call in run["calls"]]
    return [
        index
        for index, entry in enumerate(history)
        if entry["action"] in actions and not any(a < index < b for a, b in spans)
    ]


def oversize_allocations(history: list[dict]) -> int:
    """Allocations in segments over the limit: each must have the segment for itself."""
    oversize, count = {}, 0
    for entry in history:
        if entry["action"] == "segment_alloc" and entry["size"] >= MAX_SPLIT:
            oversize[entry["addr"]] = entry["size"]
        elif entry["action"] == "segment_free":
            oversize.pop(entry["addr"], None)
        elif entry["action"] == "alloc":
            for start, size in oversize.items():
                inside = start <= entry["addr"] < start + size
                assert not inside or start == entry["addr"], f"{entry} in a part of a block"
                count += inside
    return count


def rounded_up(history: list[dict]) -> int:
    """Allocations that four steps between powers of two make larger than 512 bytes' steps do."""

    def steps(size: int) -> int:
        step = 1 << (size.bit_length() - 3)
        return -(-size // step) * step

    sizes = [entry["size"] for entry in history if entry["action"] == "alloc"]
    return sum(steps(size) > -(-size // 512) * 512 for size in sizes if size > 2048)


def longest_wait(history: list[dict]) -> int:
    """The most events between a free that was asked for and its completion."""
    asked, longest = {}, 0
    for index, entry in enumerate(history):
        if entry["action"] == "free_requested":
            asked[entry["addr"]] = index
        elif entry["action"] == "free_completed":
            longest = max(longest, index - asked.pop(entry["addr"]))
    return longest


def check_setting(run: dict, snapshot: dict, history: list[dict], counts: Counter) -> dict:
    """The setting was in force and made a difference."""
    setting, expandable = run["setting"], run["setting"] == "expandable"
    assert snapshot["allocator_settings"]["expandable_segments"] == expandable
    kinds = {"segment_map"} if expandable else {"segment_alloc"}
    assert {action for action in GROWS if counts[action]} == kinds, f"{counts}"
    given_back = outside_calls(run, history, SHRINKS)
    retries = run["samples"][-1]["retries"]
    found = {"retries": retries, "given_back": len(given_back)}
    if setting == "max_split":
        found["oversize"] = oversize_allocations(history)
        assert found["oversize"], "no block is over the limit"
    elif setting == "roundup":
        found["rounded"] = rounded_up(history)
        assert found["rounded"], "no size was rounded further"
    elif setting == "gc":
        retried = [s["event_index"] for s in run["samples"] if s["retries"]]
        collected = [i for i in given_back if i < min(retried, default=len(history))]
        assert given_back and (collected or run["failures"]), "nothing was collected"
    if run["workload"] != "out_of_memory":
        assert not retries, f"{retries} retries: the device or the fraction is too small"
        assert setting == "gc" or not given_back, "memory went back without a reason"
    return found


def check_workload(run: dict, snapshot: dict, history: list[dict], counts: Counter) -> dict:
    """The workload did what it is there for."""
    name, found = run["workload"], {}
    assert counts["oom"] == run["failures"], f"{counts['oom']} failures in the history"
    assert bool(run["failures"]) == (name == "out_of_memory"), f"{run['failures']} failures"
    for call in run["calls"]:
        entries = history[call["event_index"] + 1 : call["end_index"]]
        call["given_back"] = sum(entry["action"] in SHRINKS for entry in entries)
    if run["calls"]:
        found["given_back_by_calls"] = [call["given_back"] for call in run["calls"]]
        assert any(found["given_back_by_calls"]), "no call gave memory back"
    if name == "streams":
        found["longest_wait"] = longest_wait(history)
        assert found["longest_wait"] > 100, "no free waited: --kernel spin_kernel=busy:20ms"
        assert len({entry["stream"] for entry in history}) >= 3
    if name == "memory_pool":
        found["pools"] = len({tuple(entry["pool_id"]) for entry in history})
        assert found["pools"] == 5, f"{found['pools']} pools, with the common one"
    if name == "copies":
        found["host_events"] = dict(Counter(e["action"] for e in snapshot["host_traces"]))
        assert found["host_events"], "no pinned memory in the history"
    return found


def check(run: dict, snapshot: dict) -> dict:
    """Asserts all of the above, and returns what was found."""
    history = snapshot["device_traces"][0]
    counts = Counter(entry["action"] for entry in history)
    assert len(snapshot["device_traces"]) == 1, "one device"
    assert len(history) >= LIVELY, f"only {len(history)} events"
    check_samples(run, history)
    check_whole(run, snapshot, history)
    found = {"workload": run["workload"], "setting": run["setting"]}
    found |= {"events": len(history), "samples": len(run["samples"]), "actions": dict(counts)}
    found |= {"peak_reserved": max(after for _, after in run["reserved_changes"])}
    found |= check_setting(run, snapshot, history, counts)
    return found | check_workload(run, snapshot, history, counts)
