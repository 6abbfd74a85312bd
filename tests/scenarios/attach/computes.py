"""A thread computes in C and keeps the interpreter's lock for some seconds, while the first thread sleeps."""

import threading
import time

from common import end, is_over, ready

SECONDS = 10
SAMPLE = 10**6

begun = time.perf_counter()
sum(range(SAMPLE))
count = int(SAMPLE * SECONDS / (time.perf_counter() - begun))


def compute():
    time.sleep(0.1)
    sum(range(count))


ready()
if not is_over():
    thread = threading.Thread(target=compute)
    thread.start()
    time.sleep(SECONDS)
    thread.join()
while not is_over():
    time.sleep(0.1)
end()
