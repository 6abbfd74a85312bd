"""One process hogs the device, a second cannot start. True: the hog is to be named."""

import subprocess
import sys

from models import GIB, MIB, report

# It leaves room for a context and a little more, but not for the other's model.
HOG = f"""
import time, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(free - {GIB}, dtype=torch.uint8, device="cuda")
print(held.numel(), flush=True)
time.sleep(600)
"""
SECOND = f"""
import torch
torch.empty({GIB}, dtype=torch.uint8, device="cuda")
"""


def main() -> None:
    with subprocess.Popen([sys.executable, "-c", HOG], stdout=subprocess.PIPE) as hog:
        try:
            held = int(hog.stdout.readline() or 0)
            assert held > GIB, f"the hog got only {held} bytes"
            second = subprocess.run(
                [sys.executable, "-c", SECOND], capture_output=True, text=True, check=False
            )
        finally:
            hog.kill()
    text = second.stderr.strip().splitlines()[-1] if second.stderr else ""
    print(text)
    assert second.returncode == 1, f"the second process ended with {second.returncode}"
    assert "CUDA out of memory" in text, f"the second process failed otherwise: {text}"
    assert f"Process {hog.pid} has" in text, f"the hog, {hog.pid}, is not named: {text}"

    # With the hog gone, the same program starts.
    again = subprocess.run([sys.executable, "-c", SECOND], check=False)
    assert again.returncode == 0, "it fails even without the hog"
    report(
        {
            "cause": "other-process",
            "hog": hog.pid,
            "hog_bytes": held,
            "second_wanted_mib": GIB // MIB,
            "named": f"Process {hog.pid} has" in text,
        }
    )


if __name__ == "__main__":
    main()
