"""A capture that fails because another stream did not join it, and memory that is allocated afterwards."""

import json

import torch

own, other = torch.cuda.Stream(), torch.cuda.Stream()
tensor = torch.ones(1 << 20, device="cuda")
torch.cuda.synchronize()
graph, failed_with = torch.cuda.CUDAGraph(), ""
with torch.cuda.stream(own):
    graph.capture_begin()
    other.wait_stream(own)
    with torch.cuda.stream(other):
        tensor.add_(1)
    try:
        graph.capture_end()
    except Exception as error:
        failed_with = str(error).splitlines()[0]
kept = [torch.ones(8 << 20, device="cuda") for _ in range(8)]
torch.cuda.synchronize()
print(json.dumps({"failed_with": failed_with}))
