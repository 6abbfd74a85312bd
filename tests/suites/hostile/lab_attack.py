"""What another user can do to the state of a lab, for so many seconds. Prints what it managed, as JSON.

usage: lab_attack.py STATE SECONDS KIND    (KIND: bytes, or owners: words that name living processes)
"""

import json
import mmap
import os
import socket
import struct
import sys
import time


def state(path):
    """The state as a descriptor: the file, or what the lab hands over in its place."""
    try:
        return os.open(path, os.O_RDWR)
    except OSError:
        lab = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        lab.settimeout(2)
        lab.connect(path)
        _, files, _, _ = socket.recv_fds(lab, 1 << 16, 1)
        return files[0]


def owner(pid):
    """A process as the lab's lock names it."""
    with open(f"/proc/{pid}/stat") as file:
        started = int(file.read().rpartition(")")[2].split()[19])
    namespace = os.stat("/proc/self/ns/pid").st_ino
    return (namespace & 0xFFF) << 52 | (started & 0xFFFFFFF) << 24 | pid


def fillings(kind, length):
    """Pages of bytes to write, in turn."""
    if kind == "owners":
        for word in (owner(1), owner(os.getpid())):
            yield struct.pack("<Q", word) * (length // 8)
        return
    yield b"\xff" * length
    yield os.urandom(length)
    yield (struct.pack("<Q", 1) * (length // 8)).ljust(length, b"\1")
    yield b"\0" * length


def attempt(what):
    try:
        what()
        return True
    except OSError:
        return False


def main():
    path, seconds, kind = sys.argv[1], float(sys.argv[2]), sys.argv[3]
    file = state(path)
    length = os.fstat(file).st_size
    shortened = attempt(lambda: os.ftruncate(file, 0))
    mapped = mmap.mmap(file, length)
    pages = list(fillings(kind, length))
    until, written = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        mapped[:] = pages[written % len(pages)]
        written += 1
    json.dump({"shortened": shortened, "written": written}, sys.stdout)


if __name__ == "__main__":
    main()
