"""Trains LoRA adapters of Llama 8B in 4 bits (bitsandbytes) with TRL's trainer."""

import argparse

import torch
from bitsandbytes.nn import Linear4bit
from datasets import Dataset
from models import llama, report
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import BitsAndBytesConfig, PreTrainedTokenizerFast
from transformers.quantizers import AutoHfQuantizer
from trl import SFTConfig, SFTTrainer

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=1)
parser.add_argument("--length", type=int, default=1024)
parser.add_argument("--steps", type=int, default=4)
arguments = parser.parse_args()


def quantized(model):
    """The linear layers in NF4, one after the other; the embeddings and the head stay as they are."""
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and name != "lm_head":
                four = Linear4bit(child.in_features, child.out_features, bias=False, device="meta",
                                  compute_dtype=torch.bfloat16, compress_statistics=True, quant_type="nf4")
                weight = torch.empty(child.out_features, child.in_features, dtype=torch.bfloat16)
                four.weight = type(four.weight)(weight, requires_grad=False, quant_type="nf4", module=four)
                setattr(module, name, four)
    return model


# The linear layers are made where nothing is allocated, and replaced before the model moves.
model = quantized(llama("8b", device="meta"))
for module in model.modules():
    for name, parameter in list(module.named_parameters(recurse=False)):
        if parameter.is_meta:
            empty = torch.empty(parameter.shape, dtype=parameter.dtype, device="cuda")
            setattr(module, name, torch.nn.Parameter(empty, requires_grad=False))
    for name, buffer in list(module.named_buffers(recurse=False)):
        if buffer.is_meta:
            module.register_buffer(name, torch.zeros(buffer.shape, dtype=buffer.dtype, device="cuda"), persistent=False)
model = model.cuda()
model.is_loaded_in_4bit, model.is_quantized = True, True
model.config.quantization_config = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16)
model.hf_quantizer = AutoHfQuantizer.from_config(model.config.quantization_config, pre_quantized=True)

words = Tokenizer(models.WordLevel({"<pad>": 0, "a": 1}, unk_token="a"))
words.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<pad>")
text = Dataset.from_dict({"text": ["a " * arguments.length] * 16})
settings = SFTConfig(
    output_dir=".",
    per_device_train_batch_size=arguments.batch,
    max_steps=arguments.steps,
    max_length=arguments.length,
    bf16=True,
    gradient_checkpointing=True,
    save_strategy="no",
    report_to=[],
    disable_tqdm=True,
)
adapters = LoraConfig(r=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM")
SFTTrainer(model=model, args=settings, train_dataset=text, processing_class=tokenizer, peft_config=adapters).train()
report()
