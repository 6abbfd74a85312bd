"""whyoom: why did CUDA run out of memory?

The command `whyoom` is beside this package. The package itself has `whyoom.pool`: GPU memory for PyTorch
from whyoom's pool.
"""
