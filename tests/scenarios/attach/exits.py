"""Ends by itself, so many milliseconds after it is ready."""

import sys
import time

import torch
from common import ready

model = torch.empty(16 << 20, device="cuda")
ready(torch)
time.sleep(float(sys.argv[2]) / 1000)
# It may be looked at in this very moment.
print("ended well", flush=True)
sys.exit(7)
