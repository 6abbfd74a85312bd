"""Writes a snapshot with only the later half of its history, as a smaller ring would have left it.

usage: cut_snapshot.py FILE OUT
"""

import pickle
import sys


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as file:
        snapshot = pickle.load(file)
    snapshot["device_traces"] = [trace[len(trace) // 2 :] for trace in snapshot["device_traces"]]
    with open(target, "wb") as file:
        pickle.dump(snapshot, file, protocol=4)


if __name__ == "__main__":
    main()
