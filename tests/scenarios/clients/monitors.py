"""Monitors from PyPI (nvidia-ml-py, nvitop, gpustat) against known holders on two devices.

Two processes allocate known bytes through the driver API, in two steps. Each monitor must show
every device and every holder, on its own device only, with bytes that grow by exactly the second
step; and nobody once they have ended. Prints one JSON line; exits with 1 when a check failed.
"""

import json
import subprocess
import sys
from dataclasses import dataclass, field

import pynvml
from cuda.bindings import driver as cu
from driver_suite.checks import MIB, Checks, about, ok, primary_context

# Device, first step, second step; multiples of the 2 MiB in which drivers take memory.
HOLDERS = [(0, 96 * MIB, 64 * MIB), (1, 256 * MIB, 32 * MIB)]


def hold(device: int, *steps: int) -> None:
    """A holder: takes a step for each line that it reads, and tells what the driver says then."""
    ok(cu.cuInit(0))
    bus_id = ok(cu.cuDeviceGetPCIBusId(64, ok(cu.cuDeviceGet(device)))).split(b"\0")[0].decode()
    with primary_context(device):
        for step in steps:
            sys.stdin.readline()
            ok(cu.cuMemAlloc(step))
            free, total = ok(cu.cuMemGetInfo())
            print(json.dumps({"bus_id": bus_id, "free": free, "total": total}), flush=True)
        sys.stdin.read()


class Holder:
    """A running holder."""

    def __init__(self, device: int, first: int, second: int) -> None:
        self.first, self.second = first, second
        command = [sys.executable, __file__, "hold", *map(str, (device, first, second))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.said: dict = {}

    def step(self) -> None:
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.said = json.loads(self.process.stdout.readline())

    def end(self) -> None:
        self.process.communicate(timeout=60)


@dataclass
class Scene:
    """Who holds memory, and what was in use on each device before they did."""

    holders: list[Holder]
    before: list[int]
    # Bytes by device and process, as NVML tells them and the first checks found right.
    shares: dict[tuple[int, int], int] = field(default_factory=dict)


def memory(device) -> tuple[int, int, int]:
    """Total, used and free bytes; used without what the driver keeps for itself, where it says."""
    info = pynvml.nvmlDeviceGetMemoryInfo(device)
    try:
        used = pynvml.nvmlDeviceGetMemoryInfo(device, version=pynvml.nvmlMemory_v2).used
    except (pynvml.NVMLError_NotSupported, pynvml.NVMLError_FunctionNotFound):
        used = info.used
    return info.total, used, info.free


def devices() -> list:
    count = pynvml.nvmlDeviceGetCount()
    return [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(count)]


def processes() -> dict[tuple[int, int], int]:
    """Bytes by device and process, as NVML tells them."""
    return {
        (index, process.pid): process.usedGpuMemory
        for index, device in enumerate(devices())
        for process in pynvml.nvmlDeviceGetComputeRunningProcesses(device)
    }


def place(holder: Holder) -> int:
    """The NVML index of a holder's device: CUDA may number devices in another order."""
    device = pynvml.nvmlDeviceGetHandleByPciBusId(holder.said["bus_id"].encode())
    return pynvml.nvmlDeviceGetIndex(device)


def every_device_is_there(checks: Checks, scene: Scene) -> None:
    checks.that("two devices (run with --gpus 2)", len(scene.before) >= 2)


def nvml_is_right(checks: Checks, scene: Scene) -> None:
    for holder in scene.holders:
        holder.step()
    early = processes()
    for holder in scene.holders:
        holder.step()
    scene.shares = late = processes()
    for holder in scene.holders:
        index = place(holder)
        total, used, free = memory(devices()[index])
        found = late.get((index, holder.pid), 0)
        checks.equal("on one device only", [i for i, pid in late if pid == holder.pid], [index])
        checks.that("no less than was asked for", found >= holder.first + holder.second)
        growth = found - early.get((index, holder.pid), 0)
        checks.equal("growth of the process", growth, holder.second)
        taken = used - scene.before[index]
        checks.that("the device's used bytes are the process's", about(taken, found))
        checks.that("free as the driver API says", about(free, holder.said["free"]))
        checks.that("total at least that of the driver API", total >= holder.said["total"])


def nvitop_agrees(checks: Checks, scene: Scene) -> None:
    import nvitop

    found = {}
    for index, (device, handle) in enumerate(zip(nvitop.Device.all(), devices())):
        checks.equal("name", device.name(), pynvml.nvmlDeviceGetName(handle))
        checks.equal("total", device.memory_total(), memory(handle)[0])
        checks.equal("used", device.memory_used(), memory(handle)[1])
        for pid, process in device.processes().items():
            found[index, pid] = process.gpu_memory()
    checks.equal("processes", found, scene.shares)


def nvitop_prints(checks: Checks, scene: Scene) -> None:
    import nvitop

    command = [sys.executable, "-m", "nvitop", "--once", "--ascii"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    checks.equal("exit code", run.returncode, 0)
    lines = run.stdout.splitlines()
    for (_, pid), used in scene.shares.items():
        amount = nvitop.bytes2human(used)
        shown = any(str(pid) in line.split() and amount in line for line in lines)
        checks.that(f"a line with process {pid} and {amount}", shown)
    for handle in devices():
        checks.that("total memory", nvitop.bytes2human(memory(handle)[0]) in run.stdout)


def gpustat_agrees(checks: Checks, scene: Scene) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "gpustat", "--json"], capture_output=True, text=True, timeout=60)
    checks.equal("exit code", run.returncode, 0)
    found = {}
    for gpu, handle in zip(json.loads(run.stdout)["gpus"], devices(), strict=True):
        total, used, _ = memory(handle)
        checks.equal("name", gpu["name"], pynvml.nvmlDeviceGetName(handle))
        shown = (gpu["memory.used"], gpu["memory.total"])
        checks.equal("memory", shown, (used // MIB, total // MIB))
        for process in gpu["processes"]:
            found[gpu["index"], process["pid"]] = process["gpu_memory_usage"]
    checks.equal("processes", found, {key: used // MIB for key, used in scene.shares.items()})


def nobody_is_left(checks: Checks, scene: Scene) -> None:
    for holder in scene.holders:
        holder.end()
    pids = {holder.pid for holder in scene.holders}
    checks.equal("holders still listed", [pid for _, pid in processes() if pid in pids], [])
    for device, used in zip(devices(), scene.before):
        checks.that("used as before", about(memory(device)[1], used))


def main() -> int:
    pynvml.nvmlInit()
    before = [memory(device)[1] for device in devices()]
    scene = Scene([Holder(*numbers) for numbers in HOLDERS], before)
    checks = Checks()
    checks.family("nvml", [every_device_is_there, nvml_is_right], scene)
    checks.family("nvitop", [nvitop_agrees, nvitop_prints], scene)
    checks.family("gpustat", [gpustat_agrees], scene)
    # Also what ends the holders, whatever came before.
    checks.family("end", [nobody_is_left], scene)
    print(json.dumps({"suite": "monitors", **checks.summary()}))
    return 1 if checks.failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["hold"]:
        hold(*map(int, sys.argv[2:]))
    else:
        sys.exit(main())
