"""Runs Python without PyTorch."""

import time

from common import end, is_over, ready

ready()
while not is_over():
    time.sleep(0.1)
end()
