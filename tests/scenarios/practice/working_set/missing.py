"""What was missing when PyTorch gave up, told on standard output: what it asked of the driver, by its own
message, less what the driver says is free."""

import contextlib
import json
import re

import torch

UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


@contextlib.contextmanager
def told():
    try:
        yield
    except torch.OutOfMemoryError as error:
        number, unit = re.search(r"allocate ([\d.]+) (\w+)", str(error)).groups()
        free, _ = torch.cuda.mem_get_info()
        print(json.dumps({"bytes": int(float(number) * UNITS[unit]) - free}), flush=True)
        raise
