"""The pool's library, by its C interface (whyoom_pool.h)."""

import ctypes
import os
import subprocess
import sys

from ._errors import WhyoomError
from ._installation import library

NAME = "libwhyoom_pool.so"
# Set for the programs that this one starts: which GPUs were checked, and behind a line break why the pool cannot serve
# them.
CHECKED = "WHYOOM_POOL_CHECKED"
# Longer than a driver takes to start on a machine of 16 GPUs.
PATIENCE = 60
CHECK = """
import ctypes, sys
ask = ctypes.CDLL(sys.argv[1]).whyoom_pool_obstacle
ask.restype = ctypes.c_char_p
print((ask(int(sys.argv[2])) or b"").decode(errors="replace"))
"""
PAIR = ctypes.c_uint64 * 2


class Statistics(ctypes.Structure):
    """whyoom_pool_statistics."""

    _fields_ = [
        ("size", ctypes.c_uint32),
        ("device", ctypes.c_uint32),
        *(
            (name, ctypes.c_uint64)
            for name in (
                "allocated peak_allocated requested reserved peak_reserved blocks peak_blocks allocations "
                "frees pending spare failures retries driver_calls creates releases maps unmaps access "
                "reserves events waits damaged cap device_total"
            ).split()
        ),
        *(
            ("class_" + name, PAIR)
            for name in (
                "allocated blocks allocations frees allocated_bytes freed_bytes reserved"
            ).split()
        ),
    ]


class Block(ctypes.Structure):
    """whyoom_pool_block."""

    _fields_ = [
        *((name, ctypes.c_uint64) for name in "address size requested stream pool".split()),
        ("state", ctypes.c_uint32),
        ("small", ctypes.c_uint32),
    ]


class Pool:
    """What the pool can be asked, for one device at a time."""

    def __init__(self, library):
        library.whyoom_pool_message.restype = ctypes.c_char_p
        library.whyoom_pool_blocks.restype = ctypes.c_size_t
        library.whyoom_pool_blocks.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
        library.whyoom_pool_read_statistics.argtypes = [ctypes.c_int, ctypes.c_void_p]
        self.library = library

    def statistics(self, device):
        answer = Statistics(size=ctypes.sizeof(Statistics))
        self.check(self.library.whyoom_pool_read_statistics(device, ctypes.byref(answer)))
        return answer

    def blocks(self, device):
        """All blocks that have memory behind them, by address."""
        room = 1024
        while True:
            blocks = (Block * room)()
            there = self.library.whyoom_pool_blocks(device, ctypes.byref(blocks), room)
            if there <= room:
                return sorted(blocks[:there], key=lambda block: block.address)
            # Other threads may make more meanwhile.
            room = there + there // 8 + 1

    def private_name(self, device, number):
        """A private pool as torch names it (`graph.pool()`)."""
        high, low = ctypes.c_uint64(0), ctypes.c_uint64(number)
        ask = getattr(self.library, "whyoom_pool_private_name", None)
        if number and ask is not None:
            ask(device, ctypes.c_uint64(number), ctypes.byref(high), ctypes.byref(low))
        return high.value, low.value

    def reset_peaks(self, device):
        self.check(self.library.whyoom_pool_reset_peaks(device))

    def reset_totals(self, device):
        self.check(self.library.whyoom_pool_reset_totals(device))

    def check(self, code):
        if code != 0:
            message = (self.library.whyoom_pool_message() or b"").decode(errors="replace")
            raise RuntimeError(f"whyoom's pool: {message or code}")


def address(library, function):
    """Where a function of the library is."""
    return ctypes.cast(getattr(library, function), ctypes.c_void_p).value


def obstacle(library):
    """Why the pool cannot serve the GPUs that are visible, and whether that was said; empty where it can.

    Asked in a process of its own: CUDA that is started in this one would not survive a fork.
    """
    hooked = hasattr(ctypes.CDLL(None), "whyoom_recorder_port")
    gpus = f"{boot_id()} {int(hooked)} {os.environ.get('CUDA_VISIBLE_DEVICES')}"
    known, _, why = os.environ.get(CHECKED, "").partition("\n")
    if known == gpus:
        return why, True
    # A program that is frozen, or has Python inside, is no Python that runs a script.
    name = os.path.basename(sys.executable or "")
    if getattr(sys, "frozen", False) or not name.startswith(("python", "pypy")):
        return "", False
    why = ask(library._name, hooked)
    os.environ[CHECKED] = f"{gpus}\n{why}"
    return why, False


def ask(path, hooked):
    words = [sys.executable, "-I", "-S", "-c", CHECK, path, str(int(hooked))]
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    try:
        asked = subprocess.run(words, env=environment, timeout=PATIENCE, check=False, **pipes)
    except subprocess.TimeoutExpired:
        return f"the driver gave no answer in {PATIENCE} s"
    except OSError as error:
        return f"the GPUs could not be checked: {error.strerror}"
    if asked.returncode != 0:
        return f"the check of the GPUs ended with status {asked.returncode}"
    return asked.stdout.decode(errors="replace").strip()


def boot_id():
    """The kernel's name for this machine since it started."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


def load():
    path = library(NAME, "WHYOOM_POOL_LIBRARY")
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise WhyoomError(f"whyoom's pool cannot be loaded: {error}") from error
