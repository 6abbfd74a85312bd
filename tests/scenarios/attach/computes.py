"""A thread computes in C and keeps the interpreter's lock for some seconds, while the first thread sleeps."""

import threading
import time

from common import end, is_over, ready

SECONDS = 10
SAMPLE = 10**6

begun = time.perf_counter()
sum(range(SAMPLE))
count = int(SAMPLE * SECONDS / (time.perf_counter() - begun))
computes = threading.Event()


def compute():
    computes.set()
    time.sleep(0.1)
    sum(range(count))


thread = threading.Thread(target=compute)
if not is_over():
    thread.start()
    computes.wait()
    # One that has ended is no trace of a visit.
    ready()
    time.sleep(SECONDS)
    thread.join()
else:
    ready()
while not is_over():
    time.sleep(0.1)
end()
