"""Runs first in every Python program that `whyoom run --pool` starts
(`crates/whyoom/src/startup.py` before it).

Lets PyTorch take its GPU memory from whyoom's pool, as the two lines of `whyoom.pool` would (its package is
beside this file).
"""

import sys


def install(torch):
    import whyoom.pool

    # A PyTorch that was built without CUDA has no GPU memory.
    if not whyoom.pool.is_supported(torch):
        return
    try:
        whyoom.pool.enable()
    except RuntimeError as error:
        print(f"whyoom: {error}; PyTorch keeps its own allocator", file=sys.stderr)


run_the_other_sitecustomize()
