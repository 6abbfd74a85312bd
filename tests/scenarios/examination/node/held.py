"""What the processes with the given numbers hold of device 0, as NVML lists them, contexts included.

Prints the line of JSON that a scene owes: the bytes of all, and the number of the first; as
`other` the number after --other, a process that is none of them.
"""

import ctypes
import json
import sys

MOST_PROCESSES = 64


class Process(ctypes.Structure):
    """nvmlProcessInfo_v2_t"""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


def listed(nvml: ctypes.CDLL) -> dict[int, int]:
    device = ctypes.c_void_p()
    count = ctypes.c_uint(MOST_PROCESSES)
    processes = (Process * MOST_PROCESSES)()
    assert nvml.nvmlInit_v2() == 0
    assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
    code = nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), processes)
    assert code == 0, f"NVML answered {code}"
    return {process.pid: process.used for process in processes[: count.value]}


def main() -> None:
    held = listed(ctypes.CDLL("libnvidia-ml.so.1"))
    words = sys.argv[1:]
    told = {}
    if "--other" in words:
        place = words.index("--other")
        told["other"] = int(words[place + 1])
        del words[place : place + 2]
    # Without numbers: all that are listed.
    pids = [int(word) for word in words] or sorted(held)
    told = {"bytes": sum(held[pid] for pid in pids), "pid": pids[0], **told}
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
