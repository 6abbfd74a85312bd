"""Records PyTorch's history by itself."""

import time

import common
import torch
from common import end, is_over, ready

torch.cuda.memory._record_memory_history(max_entries=5000, stacks="python")
model = torch.empty(16 << 20, device="cuda")
ready(torch)
while not is_over():
    time.sleep(0.1)
print("imported meanwhile:", sorted(common.state()["modules"] - common.before["modules"]))
print("still recorded:", torch._C._cuda_isHistoryEnabled())
another = torch.empty(16 << 20, device="cuda")
traces = torch._C._cuda_memorySnapshot(None)["device_traces"][0]
print("of its own:", sum(trace["action"] == "alloc" for trace in traces))
# Naming the frames imports PyTorch's compiler: its own doing.
common.before["modules"] = common.state()["modules"]
end()
