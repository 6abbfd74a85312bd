"""Trains Llama 1B with the Trainer of transformers; `accelerate launch` and `torchrun` run it too."""

import argparse

from models import Samples, llama, report
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()

model = llama("1b")
settings = TrainingArguments(
    output_dir=".",
    per_device_train_batch_size=arguments.batch,
    max_steps=arguments.steps,
    bf16=True,
    gradient_checkpointing=True,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
Trainer(model=model, args=settings, train_dataset=Samples(arguments.length)).train()
report()
