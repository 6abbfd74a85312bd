"""A process that holds GPU memory and says that it is recorded, and `whyoom who`, which looks at it.

usage: whyoom lab run ... -- python3 live.py BOUNDED WHYOOM TRAP...

The traps: what stands under the name of the process's part file in the folder that WHYOOM_RECORDING names.
Prints one line of JSON: for each trap what `bounded.py` says of each `who` that was run.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

STRANGER = 61002
LOOKS, FEWEST_LOOKS = 60, 5
LOOKING_SECONDS = 3
PART = 8192


def hold():
    """Takes memory of the first device."""
    cuda = ctypes.CDLL("libcuda.so.1")
    context, address = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64 << 20)) == 0


def holder(user):
    """The process that is looked at: says who it is, and waits."""
    hold()
    if user != "-":
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))
    started = open("/proc/self/stat").read().rpartition(") ")[2].split()[19]
    print(f"{os.getpid()} {started}", flush=True)
    sys.stdin.read()


def who(bounded, whyoom):
    words = [sys.executable, bounded, "10", "-", whyoom, "who", "--json"]
    return json.loads(subprocess.run(words, check=True, capture_output=True).stdout)


def part_of_another(whyoom, folder):
    """The part file of a recording that is not the process's."""
    recording = os.path.join(folder, "another")
    words = [whyoom, "run", "-o", recording, "--", sys.executable, __file__, "hold"]
    subprocess.run(words, check=True, capture_output=True)
    return next(entry.path for entry in os.scandir(recording) if entry.name.endswith(".part"))


def cut_and_mend(path, ended):
    """Makes a part file short and whole again, as fast as it goes."""
    whole = open(path, "rb").read()
    assert len(whole) == PART
    file = os.open(path, os.O_RDWR)
    while not ended.is_set():
        os.ftruncate(file, 0)
        os.pwrite(file, whole, 0)


def trapped(bounded, whyoom, trap, folder):
    recording = os.path.join(folder, "recording")
    os.makedirs(recording)
    user = "-" if trap in ("none", "cut") else str(STRANGER)
    words = [sys.executable, __file__, "holder", user]
    # "foreign": its own part file, but of the user that it was before.
    if trap in ("none", "cut", "foreign"):
        words = [whyoom, "run", "-q", "-o", recording, "--", *words]
    variables = os.environ | {"WHYOOM_RECORDING": recording}
    pipe = subprocess.PIPE
    process = subprocess.Popen(words, stdin=pipe, stdout=pipe, env=variables, text=True)
    pid, started = process.stdout.readline().split()
    part = os.path.join(recording, f"{pid}-{started}.part")
    cutter = None
    if trap == "fifo":
        os.mkfifo(part, 0o666)
    elif trap == "link":
        os.symlink(part_of_another(whyoom, folder), part)
    elif trap == "another":
        shutil.copy(part_of_another(whyoom, folder), part)
    elif trap == "device":
        os.symlink("/dev/zero", part)
    elif trap == "cut":
        cutter = subprocess.Popen([sys.executable, __file__, "cutter", part], stdin=pipe)
    answers, until = [], time.monotonic() + LOOKING_SECONDS
    most, fewest = (LOOKS, FEWEST_LOOKS) if cutter else (1, 1)
    while len(answers) < fewest or (len(answers) < most and time.monotonic() < until):
        answers.append(who(bounded, whyoom))
    for other in (cutter, process):
        if other:
            other.stdin.close()
            other.wait()
    return answers


def main():
    if sys.argv[1] == "hold":
        return hold()
    if sys.argv[1] == "holder":
        return holder(sys.argv[2])
    if sys.argv[1] == "cutter":
        ended = threading.Event()
        threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
        return cut_and_mend(sys.argv[2], ended)
    with tempfile.TemporaryDirectory() as folder:
        bounded, whyoom, *traps = sys.argv[1:]
        folders = [os.path.join(folder, trap) for trap in traps]
        print(json.dumps([trapped(bounded, whyoom, *each) for each in zip(traps, folders)]))


if __name__ == "__main__":
    main()
