"""pytorch#193400, #123548: reserved memory grows without bound."""
import sys
import torch
MiB = 2**20
def empty(mib): return torch.empty(int(mib * MiB), dtype=torch.uint8, device="cuda")
kept = [empty(64)]
row = []
for cycle in range(101):
    a, b = empty(91), empty(45.5)
    kept.append(empty(2))                    # stays alive behind A and B
    del a, b
    if cycle % 20 == 0:
        row.append("%d: %d/%d" % (cycle, torch.cuda.memory_allocated() // MiB, torch.cuda.memory_reserved() // MiB))
stats = torch.cuda.memory_stats()
print(torch.__version__, "cycle: allocated/reserved MiB |", ", ".join(row), "| retries", stats["num_alloc_retries"], "ooms", stats["num_ooms"])
