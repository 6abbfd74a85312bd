"""Has PyTorch and has not used a GPU."""

import time

import torch
from common import end, is_over, ready

ready(torch)
while not is_over():
    time.sleep(0.1)
end()
