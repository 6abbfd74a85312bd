"""A process that is attached to by root, and attacks it. It prints `ready PID`, and ends with its input.

usage: attached.py HOW WORDS...

idle               does nothing
mount VICTIM       in a namespace of its own: mounts VICTIM over the folder that it is given
swap VICTIM OWN    in a namespace of its own, where OWN is /tmp: puts a link to VICTIM in the place of the folder
link VICTIM OWN    in a namespace of its own, where OWN is /: /tmp is a link to VICTIM
answer             answers with files that are long and empty
long               answers with a snapshot that takes long to read
map FILE           has FILE mapped before its interpreter
"""

import ctypes
import os
import sys
import threading
import time

MS_BIND, MS_REC = 4096, 16384
RENAME_EXCHANGE = 2
AT_FDCWD = -100
PREFIX = "whyoom-attach-"
HOLE = 256 << 20
LONG = 128 << 20
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, flags=MS_BIND):
    if libc.mount(source.encode(), target.encode(), None, flags, None) != 0:
        raise OSError(ctypes.get_errno(), f"mount {source} on {target}")


def visits(known):
    """The folders in /tmp, as fast as it goes."""
    while True:
        for name in os.listdir("/tmp"):
            if name.startswith(PREFIX) and name not in known:
                known.add(name)
                yield "/tmp/" + name


def mount_over(victim):
    for folder in visits(set(os.listdir("/tmp"))):
        mount(victim, folder)


def swap(victim):
    known, number = set(), 0
    while True:
        link = f"/tmp/link-{number}"
        os.symlink(victim, link)
        folder = next(visits(known))
        libc.renameat2(AT_FDCWD, link.encode(), AT_FDCWD, folder.encode(), RENAME_EXCHANGE)
        number += 1


def change_root(victim, own):
    mount(own, own)
    for name in ("usr", "proc", "old"):
        os.mkdir(f"{own}/{name}")
    for name in ("lib", "lib64", "bin"):
        os.symlink(f"usr/{name}", f"{own}/{name}")
    mount("/usr", f"{own}/usr", MS_BIND | MS_REC)
    mount("/proc", f"{own}/proc", MS_BIND | MS_REC)
    os.symlink(victim, f"{own}/tmp")
    os.chdir(own)
    if libc.pivot_root(b".", b"old") != 0 or libc.umount2(b"old", 2) != 0:
        raise OSError(ctypes.get_errno(), "pivot_root")
    os.chdir("/")


def answer_holes(folder):
    for name in ("snapshot.pickle", "keepers.json"):
        os.truncate(os.open(f"{folder}/{name}", os.O_WRONLY | os.O_CREAT, 0o600), HOLE)


def answer_long(folder):
    """A list of 64 Mi small numbers (128 MiB), less what the pickle's other opcodes need."""
    start, end = b"\x80\x02](", b"e."
    with open(folder + "/snapshot.pickle", "wb") as file:
        file.write(start + b"K\x01" * ((LONG - len(start) - len(end)) // 2) + end)


def answer(how):
    for folder in visits(set(os.listdir("/tmp"))):
        time.sleep(0.1)
        os.mkdir(folder + "/begun")
        how(folder)
        text = '{"python": "3.11", "torch": "2.15", "state": "looked", "history": "off"}'
        with open(folder + "/part", "w") as file:
            file.write(text)
        os.rename(folder + "/part", folder + "/answer.json")


def map_low(path):
    """Below the interpreter, which is looked into afterwards."""
    at, length, read, private_fixed = 0x200000, 4096, 1, 0x12
    libc.mmap.restype = ctypes.c_void_p
    file = os.open(path, os.O_RDONLY)
    where = [ctypes.c_void_p(at), ctypes.c_size_t(length), read, private_fixed, file]
    assert libc.mmap(*where, ctypes.c_long(0)) == at


def main():
    how, words = sys.argv[1], sys.argv[2:]
    attack = None
    if how == "mount":
        attack = (mount_over, words)
    elif how == "swap":
        mount(words[1], "/tmp")
        attack = (swap, words[:1])
    elif how == "link":
        change_root(*words)
    elif how == "answer":
        attack = (answer, [answer_holes])
    elif how == "long":
        attack = (answer, [answer_long])
    elif how == "map":
        map_low(*words)
    if attack:
        threading.Thread(target=attack[0], args=attack[1], daemon=True).start()
    print("ready", os.getpid(), flush=True)
    sys.stdin.read()


main()
