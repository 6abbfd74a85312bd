"""Forbids that others look into it."""

import ctypes
import time

from common import end, is_over, ready

PR_SET_DUMPABLE = 4
assert ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0) == 0
ready()
while not is_over():
    time.sleep(0.1)
end()
