"""Trains Llama 1B with DeepSpeed's ZeRO: torchrun --nproc-per-node 2 deepspeed_zero.py --stage 3"""

import argparse
import os

import deepspeed
import torch
from models import llama, report, tokens
from transformers.models.llama import modeling_llama  # noqa: F401  (before DeepSpeed replaces how tensors are made)

parser = argparse.ArgumentParser()
parser.add_argument("--stage", type=int, default=2)
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
deepspeed.init_distributed("nccl")
settings = {
    "train_micro_batch_size_per_gpu": arguments.batch,
    "bf16": {"enabled": True},
    "zero_optimization": {"stage": arguments.stage},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5, "torch_adam": True}},
}
with deepspeed.zero.Init(config_dict_or_path=settings, enabled=arguments.stage == 3):
    model = llama("1b")
engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=settings)
for _ in range(arguments.steps):
    batch = tokens(arguments.batch, arguments.length)
    engine.backward(engine(input_ids=batch, labels=batch).loss)
    engine.step()
report()
