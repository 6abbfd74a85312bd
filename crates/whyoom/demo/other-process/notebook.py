import time

import torch

embeddings = torch.empty(3650, 1024, 1024, dtype=torch.int8, device="cuda")
print("ready", flush=True)
time.sleep(600)
