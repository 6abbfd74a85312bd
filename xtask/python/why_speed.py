"""Times `whyoom why` from start to end against pickle.load inside a running Python, by turns.

usage: why_speed.py WHYOOM FILE

Prints JSON: the medians in seconds and the peaks of resident memory in bytes.
"""

import json
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 5

LOAD = """
import pickle, resource, sys, time
start = time.perf_counter()
with open(sys.argv[1], "rb") as file:
    pickle.load(file)
seconds = time.perf_counter() - start
print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def why(whyoom, path):
    start = time.perf_counter()
    process = subprocess.Popen([whyoom, "why", "--json", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"whyoom failed on {path}")
    return seconds, usage.ru_maxrss * 1024


def load(path):
    output = subprocess.check_output([sys.executable, "-c", LOAD, path], text=True)
    seconds, resident = output.split()
    return float(seconds), int(resident)


def main():
    whyoom, path = sys.argv[1:]
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(why(whyoom, path))
        theirs.append(load(path))
    seconds = lambda runs: statistics.median(run[0] for run in runs)
    resident = lambda runs: max(run[1] for run in runs)
    json.dump(
        {
            "bytes": os.path.getsize(path),
            "why_seconds": seconds(ours),
            "why_resident": resident(ours),
            "load_seconds": seconds(theirs),
            "load_resident": resident(theirs),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main()
