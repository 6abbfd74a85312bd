"""Ends by itself, so many milliseconds after it is ready."""

import sys
import time

import torch
from common import end, ready

model = torch.empty(16 << 20, device="cuda")
ready(torch)
time.sleep(float(sys.argv[2]) / 1000)
end(7)
