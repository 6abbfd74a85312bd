"""What a program costs that redraws a terminal: usage.py SECONDS COMMAND…

Runs it in a pseudo-terminal of 80 columns and 24 lines, lets it settle for three seconds, and then
counts its processor time for so long. Prints one JSON line: the share of one core in per cent, the
most memory that was resident, in MiB, and how many bytes it drew.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from pathlib import Path

SETTLE = 3.0


def processor_seconds(pid: int) -> float:
    """Of all its threads, also those that have ended, to the nanosecond: clock ticks are too coarse
    for a program that sleeps nearly always."""
    # What clock_getcpuclockid(3) gives for another process.
    return time.clock_gettime((~pid << 3) | 2)


def resident_mebibytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("no VmHWM")


def drain(terminal: int, until: float) -> int:
    """Reads what is drawn, as a terminal would, and tells how much that was."""
    count = 0
    while (left := until - time.monotonic()) > 0:
        if select.select([terminal], [], [], left)[0]:
            try:
                count += len(os.read(terminal, 1 << 16))
            except OSError:
                raise SystemExit("it ended before it was measured") from None
    return count


def start(command: list[str]) -> tuple[int, int]:
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    return pid, terminal


def main(seconds: float, command: list[str]) -> None:
    pid, terminal = start(command)
    try:
        drain(terminal, time.monotonic() + SETTLE)
        before, began = processor_seconds(pid), time.monotonic()
        drawn = drain(terminal, began + seconds)
        share = (processor_seconds(pid) - before) / (time.monotonic() - began)
        print(json.dumps({
            "percent": 100 * share, "mebibytes": resident_mebibytes(pid), "drawn": drawn}))
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2:])
