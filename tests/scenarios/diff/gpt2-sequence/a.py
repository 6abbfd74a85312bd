"""GPT-2 of transformers from a config. python a.py --length N"""

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--batch", type=int, default=4)
options = parser.parse_args()

config = GPT2Config(vocab_size=8192, n_positions=1024, n_embd=512, n_layer=6, n_head=8, use_cache=False)
model = GPT2LMHeadModel(config).cuda().train()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)

for step in range(4):
    ids = torch.randint(config.vocab_size, (options.batch, options.length), device="cuda")
    output = model(input_ids=ids, labels=ids)
    output.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(step, output.loss.item())

print(f"peak_allocated={torch.cuda.max_memory_allocated()}")
