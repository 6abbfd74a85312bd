"""Runs first in every Python program that `whyoom run --torch-history` starts
(`crates/whyoom/src/startup.py` before it).

Lets PyTorch record its own allocations from its first use of a GPU on, and writes its snapshot when
memory runs out and at the end: PID.pickle in the folder that WHYOOM_TORCH_HISTORY names.
The program itself is not changed.
"""

import os
import sys

FOLDER = os.environ.get("WHYOOM_TORCH_HISTORY")
# A longer history is kept from its end.
MAX_ENTRIES = 1_000_000
# A program that catches its failures may have thousands of them.
MOST_FAILURES = 3


class History:
    """PyTorch's history of one process."""

    def __init__(self, torch):
        self.torch = torch
        self.pid = None
        self.failures = 0

    def start(self):
        import atexit

        self.pid = os.getpid()
        self.torch.cuda.memory._record_memory_history(max_entries=MAX_ENTRIES, stacks="python")
        self.torch._C._cuda_attach_out_of_memory_observer(self.ran_out)
        atexit.register(harmless(self.dump))

    def ran_out(self, *_):
        self.failures += 1
        if self.failures <= MOST_FAILURES:
            harmless(self.dump)()

    def dump(self):
        # A worker that was forked has the history of its parent.
        if self.pid != os.getpid():
            return
        path = os.path.join(FOLDER, str(self.pid))
        # Written under another name first: a file with the right name is whole.
        self.torch.cuda.memory._dump_snapshot(make_private(path + ".part"))
        os.rename(path + ".part", path + ".pickle")


def install(torch):
    if FOLDER and hasattr(torch, "cuda"):
        torch.cuda._lazy_call(harmless(History(torch).start))


run_the_other_sitecustomize()
