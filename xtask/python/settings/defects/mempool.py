"""pytorch#159674: inside use_mem_pool, cached blocks are not released and tried again."""
import inspect, sys
import torch
GiB = 2**30
def empty(gib): return torch.empty(int(gib * GiB), dtype=torch.uint8, device="cuda")
def attempt(name, gib):
    try:
        block = empty(gib)
        print(torch.__version__, name, "fits")
    except torch.cuda.OutOfMemoryError as error:
        print(torch.__version__, name, "OOM:", str(error)[:430])
kind = sys.argv[1]
options = {}
for option in sys.argv[2:]:
    options[option] = True
if kind == "default":                        # for comparison, no pool
    attempt("4 GiB", 4)
    attempt("5 GiB after it was freed, default pool", 5)
elif kind == "same":
    pool = torch.cuda.MemPool(**options)
    with torch.cuda.use_mem_pool(pool):
        attempt("4 GiB", 4)
        attempt("5 GiB after it was freed, same MemPool %s" % options, 5)
    attempt("5 GiB outside, the MemPool lives and is idle", 5)
    del pool
    attempt("5 GiB outside, the MemPool is deleted", 5)
elif kind == "cached":
    attempt("4 GiB in the default pool", 4)
    pool = torch.cuda.MemPool(**options)
    with torch.cuda.use_mem_pool(pool):
        attempt("5 GiB in a MemPool while 4 GiB are cached outside %s" % options, 5)
s = torch.cuda.memory_stats()
print("  retries", s["num_alloc_retries"], "ooms", s["num_ooms"])
