"""held_by.py [PID...]: what these processes, or all, hold of device 0 together, as NVML lists them."""

import ctypes
import json
import sys

MOST = 256


class Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("bytes", ctypes.c_ulonglong),
                ("instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


nvml = ctypes.CDLL("libnvidia-ml.so.1")
device, count, listed = ctypes.c_void_p(), ctypes.c_uint(MOST), (Process * MOST)()
assert nvml.nvmlInit_v2() == 0
assert nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(device)) == 0
assert nvml.nvmlDeviceGetComputeRunningProcesses_v3(device, ctypes.byref(count), listed) == 0
asked = [int(word) for word in sys.argv[1:]] or [process.pid for process in listed[: count.value]]
held = sum(process.bytes for process in listed[: count.value] if process.pid in asked)
print(json.dumps({"bytes": held, "pid": asked[0]}), flush=True)
