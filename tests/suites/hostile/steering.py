"""Makes inputs whose every text steers a terminal.

usage: steering.py FIXTURES FOLDER
"""

import os
import pickle
import sys

# Clears the screen, hides what follows, sets the title, turns the line, and does so in 8 bits.
STEERS = "\x1b[2J\x1b[8m\x1b]0;owned\x07\u202e\u2066\x9b31m\x7f\r\b"


def poisoned(value, key=None):
    if isinstance(value, dict):
        return {key: poisoned(item, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(poisoned(item, key) for item in value)
    # Actions and states are words of the format.
    if isinstance(value, str) and key not in ("action", "state", "segment_type"):
        return value + STEERS
    return value


def main():
    fixtures, folder = sys.argv[1:]
    for name in ("growth-oom", "fragmented-oom", "working-set-oom"):
        with open(f"{fixtures}/snapshots/{name}.pickle", "rb") as file:
            snapshot = pickle.load(file)
        # In a file whose own name steers, too.
        with open(os.path.join(folder, f"{name}{STEERS}.pickle"), "wb") as file:
            pickle.dump(poisoned(snapshot), file)
    with open(os.path.join(folder, f"job{STEERS}.log"), "w") as file:
        file.write(f'Traceback (most recent call last):\n  File "/home/me/{STEERS}.py", line 3, in f{STEERS}\n    x()\n')
        file.write(f"export PYTORCH_CUDA_ALLOC_CONF=a{STEERS}\n{STEERS}[rank1]: {STEERS} torch.OutOfMemoryError: ")
        file.write("CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.64 GiB of which ")
        file.write(f"5.06 MiB is free. Process 4711 has 3.00 GiB memory in use. {STEERS}\n")
    with open(f"{fixtures}/imports/rmm.dev0.csv") as file:
        lines = file.read().splitlines()
    with open(os.path.join(folder, f"rmm{STEERS}.csv"), "w") as file:
        file.write("\n".join([lines[0]] + [line + STEERS for line in lines[1:]]) + "\n")
    with open(os.path.join(folder, f"broken{STEERS}.pickle"), "wb") as file:
        file.write(b"\x80\x04\x8c\x10posix\x1b[2J.system\x93.")


if __name__ == "__main__":
    main()
