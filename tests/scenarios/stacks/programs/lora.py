"""Trains LoRA adapters (PEFT) of Llama 8B in bfloat16, with checkpointing."""

import argparse

import torch
from models import llama, report, tokens
from peft import LoraConfig, get_peft_model

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=1024)
parser.add_argument("--rank", type=int, default=16)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

targets = ["q_proj", "k_proj", "v_proj", "o_proj"]
model = get_peft_model(llama("8b"), LoraConfig(r=arguments.rank, target_modules=targets, task_type="CAUSAL_LM"))
model.gradient_checkpointing_enable()
model.enable_input_require_grads()
model.train()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=1e-4)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    model(input_ids=batch, labels=batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
report()
