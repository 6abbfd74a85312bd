// What PyTorch writes when memory ran out: docs/questions/memory-is-free.md has the program.
export const EXAMPLE = `Traceback (most recent call last):
  File "chat.py", line 28, in <module>
    answer(random.randrange(60), 16 + min(3000, int(random.lognormvariate(5.5, 1.0))))
  File "chat.py", line 21, in answer
    scores.softmax(-1)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 228.00 MiB. GPU 0 has a total capacity of 2.69 GiB of which 88.00 MiB is free. Including non-PyTorch memory, this process has 2.60 GiB memory in use. Of the allocated memory 1.39 GiB is allocated by PyTorch, and 843.13 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  See documentation for Memory Management  (https://docs.pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-cuda-alloc-conf)
`;
