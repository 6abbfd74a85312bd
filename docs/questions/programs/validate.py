"""Validates a classifier: validate.py SAMPLES [BATCH]"""

import sys

import torch
from torch import nn

samples, batch = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64
layers = [layer for _ in range(6) for layer in (nn.Linear(2048, 2048), nn.ReLU())]
model = nn.Sequential(*layers, nn.Linear(2048, 1000)).cuda()
data, labels = torch.rand(samples, 2048), torch.randint(1000, (samples,))

total, steps = 0, 0
try:
    for inputs, targets in zip(data.split(batch), labels.split(batch)):
        loss = nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda())
        total += loss
        steps += 1
except torch.OutOfMemoryError:
    print(f"{samples} samples in batches of {batch}: failed in step {steps}", flush=True)
    raise
print(f"{samples} samples in batches of {batch}: {steps} steps, loss {total / steps:.2f}", flush=True)
