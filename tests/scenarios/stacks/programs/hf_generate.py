"""Generates with Llama 8B in bfloat16: the keys and values of every token stay."""

import argparse

import torch
from models import llama, report, tokens

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--prompt", type=int, default=512)
parser.add_argument("--new", type=int, default=32)
arguments = parser.parse_args()

model = llama("8b", use_cache=True).eval()
prompt = tokens(arguments.batch, arguments.prompt)
made = model.generate(
    prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=arguments.new, do_sample=False, pad_token_id=0
)
report(shape=list(made.shape))
