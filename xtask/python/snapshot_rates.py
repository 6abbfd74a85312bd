"""Entries a second in the histories of PyTorch snapshots: snapshot_rates.py FOLDER

Prints JSON: for each file with more than a thousand entries, how many there are and the seconds
between the first and the last.
"""

import json
import pathlib
import pickle
import sys

rates = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.pickle")):
    with path.open("rb") as file:
        snapshot = pickle.load(file)  # our own copies, whose origin is known
    entries = [entry for trace in snapshot.get("device_traces", []) for entry in trace]
    times = [entry["time_us"] for entry in entries if "time_us" in entry]
    if len(times) > 1000:
        rates[path.name] = [len(entries), (max(times) - min(times)) / 1e6]
print(json.dumps(rates))
