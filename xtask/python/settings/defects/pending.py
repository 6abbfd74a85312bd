"""pytorch#189504, #191302: OOM although a fitting block is freed; the same request again succeeds.

lab run --memory 8GiB --kernel elementwise=busy:500ms -- python pending.py [whole]
"""
import sys
import torch
GiB = 2**30
def empty(gib): return torch.empty(int(gib * GiB), dtype=torch.uint8, device="cuda")
whole = "whole" in sys.argv
if not whole:                                # the block will be a part of a larger segment
    a = empty(6)
    del a
    kept = empty(0.5)
x = empty(5)
fill = empty(2 if whole else 1)              # the device is full
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    x[:1024].add_(1)                         # a kernel that still runs
x.record_stream(side)
del x                                        # freed, waits for the kernel
def attempt(name):
    try:
        block = empty(5)
        print(torch.__version__, name, "succeeds; reserved %.2f GiB" % (torch.cuda.memory_reserved() / GiB))
        return block
    except torch.cuda.OutOfMemoryError as error:
        print(torch.__version__, name, "fails:", str(error)[:420])
first = attempt("first attempt")
if first is None:
    free = [b["size"] / GiB for s in torch.cuda.memory._snapshot()["segments"] for b in s["blocks"] if b["state"] == "inactive"]
    print("  free blocks after the failure, GiB:", sorted(round(f, 2) for f in free if f > 0.1))
    attempt("second attempt")
s = torch.cuda.memory_stats()
print("  retries", s["num_alloc_retries"], "ooms", s["num_ooms"])
