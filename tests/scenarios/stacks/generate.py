"""Generates so many tokens with a small model of random weights, greedily or by sampling."""

import argparse
import json

import torch
from transformers import LlamaConfig, LlamaForCausalLM

arguments = argparse.ArgumentParser()
arguments.add_argument("--batch", type=int, default=1)
arguments.add_argument("--prompt", type=int, default=8)
arguments.add_argument("--new", type=int, default=16)
arguments.add_argument("--sample", action="store_true")
arguments = arguments.parse_args()

configuration = LlamaConfig(
    hidden_size=512,
    intermediate_size=1024,
    num_hidden_layers=4,
    num_attention_heads=8,
    num_key_value_heads=8,
    vocab_size=32000,
)
with torch.device("cuda"):
    model = LlamaForCausalLM(configuration).to(torch.bfloat16).eval()
calls = []
model.register_forward_pre_hook(lambda *_: calls.append(None))
prompt = torch.full((arguments.batch, arguments.prompt), 5, device="cuda")
tokens = model.generate(
    prompt,
    attention_mask=torch.ones_like(prompt),
    max_new_tokens=arguments.new,
    do_sample=arguments.sample,
)
print(json.dumps({"shape": list(tokens.shape), "calls": len(calls), "first": tokens[0, 0].item()}))
