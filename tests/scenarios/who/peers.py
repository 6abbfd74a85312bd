"""What nvitop and gpustat, unmodified, say of the devices at this moment.

Prints one JSON line: for each of the two, the devices with their totals and processes, as its own
interface for programs gives them, and the text that it prints for people.
"""

import json
import os
import subprocess
import sys

MIB = 1 << 20


def printed(*command: str) -> str:
    # A wide terminal, so that neither cuts what it knows.
    run = subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, timeout=60,
        env={**os.environ, "COLUMNS": "220"})
    return run.stdout + run.stderr


def nvitop() -> list[dict]:
    from nvitop import Device

    return [
        {
            "total": device.memory_total(),
            "used": device.memory_used(),
            "processes": {
                str(pid): process.gpu_memory() for pid, process in device.processes().items()},
        }
        for device in Device.all()
    ]


def gpustat() -> list[dict]:
    """Its amounts are whole mebibytes."""
    answer = printed("gpustat", "--json")
    return [
        {
            "total": gpu["memory.total"] * MIB,
            "used": gpu["memory.used"] * MIB,
            "processes": {
                str(process["pid"]): process["gpu_memory_usage"] * MIB
                for process in gpu["processes"]},
        }
        for gpu in json.loads(answer)["gpus"]
    ]


def main() -> None:
    print(json.dumps({
        "nvitop": {"devices": nvitop(), "text": printed("nvitop", "--once", "--ascii")},
        "gpustat": {
            "devices": gpustat(),
            "text": printed("gpustat", "--show-all", "--show-full-cmd", "--no-color"),
        },
    }))


if __name__ == "__main__":
    main()
