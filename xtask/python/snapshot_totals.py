"""Prints the totals of a snapshot as JSON, summed from the file's own numbers by Python's own pickle.

usage: snapshot_totals.py FILE
"""

import json
import pickle
import sys


def add(totals, segment, device):
    sums = totals.setdefault(
        str(device),
        dict.fromkeys(
            ("reserved_bytes", "allocated_bytes", "active_bytes", "requested_bytes", "active_blocks", "segments"), 0
        ),
    )
    # The segment's own sums where it has them, so that ours are checked against PyTorch's.
    sums["reserved_bytes"] += segment["total_size"]
    sums["allocated_bytes"] += segment["allocated_size"]
    sums["active_bytes"] += segment["active_size"]
    sums["segments"] += 1
    for block in segment["blocks"]:
        if block["state"] != "inactive":
            sums["active_blocks"] += 1
        if block["state"] == "active_allocated":
            sums["requested_bytes"] += block["requested_size"]


def main():
    with open(sys.argv[1], "rb") as file:
        snapshot = pickle.load(file)
    totals = {}
    for segment in snapshot["segments"]:
        add(totals, segment, segment["device"])
    for segment in snapshot.get("host_segments", []):
        add(totals, segment, "host")
    json.dump(totals, sys.stdout)


if __name__ == "__main__":
    main()
