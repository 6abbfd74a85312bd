"""Runs a command as a user, for so long at most, and prints how it ended and what it took as JSON.

usage: bounded.py SECONDS USER COMMAND...    (USER: a number, or - for nobody else)
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

# Whatever takes more than this is stopped before it takes the machine.
ADDRESS_SPACE = 8 << 30


def become(user):
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    os.setsid()
    if user != "-":
        os.setgroups([])
        os.setgid(int(user))
        os.setuid(int(user))


def main():
    seconds, user, command = float(sys.argv[1]), sys.argv[2], sys.argv[3:]
    out, err = tempfile.TemporaryFile(), tempfile.TemporaryFile()
    start = time.monotonic()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=lambda: become(user)
    )
    ended = 0
    while not ended and time.monotonic() - start < seconds:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        time.sleep(0.002)
    took = time.monotonic() - start
    if not ended:
        os.killpg(process.pid, signal.SIGKILL)
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    out.seek(0), err.seek(0)
    answer = {
        "status": os.waitstatus_to_exitcode(status) if ended else None,
        "seconds": took,
        "resident": usage.ru_maxrss * 1024,
        "out": out.read(1 << 20).decode(errors="replace"),
        "err": err.read(1 << 20).decode(errors="replace"),
    }
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
