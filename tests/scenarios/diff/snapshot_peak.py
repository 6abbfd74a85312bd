"""Prints what was requested at the peak of a snapshot's device 0, in all and by call site, from its trace alone."""

import json
import pickle
import sys
from collections import Counter


class PlainData(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"{module}.{name} in a snapshot")


def rounded(size):
    return max(512, (size + 511) // 512 * 512)


def call_site(frames):
    """The innermost frame of the program's own Python code."""
    libraries = ("site-packages", "dist-packages", "/lib/python")
    for frame in frames:
        file = frame["filename"]
        if file.endswith(".py") and not any(part in file for part in libraries):
            return f"{'/'.join(file.split('/')[-2:])}:{frame['line']} {frame['name']}"
    return ""


def at_start(segments, trace):
    """What was allocated before the first event: what is at the end, with all events undone."""
    live = {}
    for segment in segments:
        address = segment["address"]
        for block in segment["blocks"]:
            address = block.get("address", address)
            if block["state"] == "active_allocated":
                live[address] = (block["requested_size"], call_site(block.get("frames", [])))
            address += block["size"]
    for event in reversed(trace):
        if event["action"] == "alloc":
            live.pop(event["addr"], None)
        elif event["action"] == "free_requested":
            live[event["addr"]] = (event["size"], "")
    return live


def main(path):
    with open(path, "rb") as file:
        snapshot = PlainData(file).load()
    trace = snapshot["device_traces"][0]
    live = at_start([one for one in snapshot["segments"] if one["device"] == 0], trace)
    now = sum(rounded(size) for size, _ in live.values())
    highest, peak = now, dict(live)
    for event in trace:
        if event["action"] == "alloc":
            live[event["addr"]] = (event["size"], call_site(event["frames"]))
            now += rounded(event["size"])
            if now > highest:
                highest, peak = now, dict(live)
        elif event["action"] == "free_requested":
            size, _ = live.pop(event["addr"])
            now -= rounded(size)
    sites = Counter()
    for size, site in peak.values():
        sites[site] += size
    del sites[""]
    print(json.dumps({"requested": sum(size for size, _ in peak.values()), "sites": sites}))


main(sys.argv[1])
