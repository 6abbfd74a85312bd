"""Another process takes memory, is named in the failure, and gives all back when killed."""

import subprocess
import sys
import time

import torch

from models import GIB, report

CHILD = f"""
import time, torch
held = torch.empty({3 * GIB}, dtype=torch.uint8, device="cuda")
print("holding", flush=True)
time.sleep(600)
"""


def free() -> int:
    return torch.cuda.mem_get_info()[0]


def free_settles_at(expected: int, seconds: float = 10) -> int:
    """A killed process is taken apart by the kernel in its own time."""
    deadline = time.monotonic() + seconds
    while free() != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    return free()


def main() -> None:
    held = torch.empty(GIB, dtype=torch.uint8, device="cuda")
    before = free()
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE) as child:
        try:
            line = child.stdout.readline()
            assert line == b"holding\n", f"the child did not get its memory: {line}"
            during = free()
            fell = before - during
            # More than its tensor: its context takes memory as well.
            assert fell > 3 * GIB, f"free memory fell by {fell}, expected more than 3 GiB"
            text = ""
            try:
                torch.empty(during + GIB, dtype=torch.uint8, device="cuda")
            except torch.OutOfMemoryError as error:
                text = str(error)
            print(text)
            assert f"Process {child.pid} has" in text, f"{child.pid} is not named in: {text}"
        finally:
            child.kill()  # SIGKILL: the child cannot clean up after itself
    after = free_settles_at(before)
    assert after == before, f"{after} bytes free after the kill, {before} before the child"
    report(
        {
            "held": held.numel(),
            "free_before": before,
            "free_during": during,
            "free_after": after,
            "child_context": fell - 3 * GIB,
        }
    )


if __name__ == "__main__":
    main()
