"""throw_on_cudamalloc_oom: what it rejects."""
import torch
GiB = 2**30
def attempt(name, gib):
    try:
        block = torch.empty(int(gib * GiB), dtype=torch.uint8, device="cuda")
        print(torch.__version__, name, "fits; reserved %.2f GiB" % (torch.cuda.memory_reserved() / GiB))
    except torch.cuda.OutOfMemoryError as error:
        print(torch.__version__, name, "OOM:", str(error)[:330])
    s = torch.cuda.memory_stats()
    print("  ", {k: s.get(k) for k in ("num_alloc_retries", "num_ooms", "num_oom_rejections")})
attempt("4 GiB", 4)
attempt("6 GiB while 4 GiB are cached", 6)
attempt("9 GiB", 9)
torch.cuda.empty_cache()
attempt("6 GiB after empty_cache", 6)
