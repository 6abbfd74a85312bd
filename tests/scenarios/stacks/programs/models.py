"""Models of known sizes with random weights, built on the GPU; and what the allocator counted."""

import json
import os

import torch

SIZES = {
    "tiny": dict(hidden_size=256, intermediate_size=512, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=4, vocab_size=4096),
    "1b": dict(hidden_size=2048, intermediate_size=8192, num_hidden_layers=16, num_attention_heads=32,
               num_key_value_heads=8, vocab_size=128256, tie_word_embeddings=True),
    "8b": dict(hidden_size=4096, intermediate_size=14336, num_hidden_layers=32, num_attention_heads=32,
               num_key_value_heads=8, vocab_size=128256),
    "70b": dict(hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64,
                num_key_value_heads=8, vocab_size=128256),
}


def configuration(size, **changes):
    from transformers import LlamaConfig

    return LlamaConfig(**(SIZES[size] | dict(use_cache=False, max_position_embeddings=8192) | changes))


def llama(size, device="cuda", dtype=torch.bfloat16, **changes):
    from transformers import AutoModelForCausalLM

    with torch.device(device):
        return AutoModelForCausalLM.from_config(configuration(size, **changes), dtype=dtype)


def tokens(batch, length, vocabulary=4096):
    """Random tokens that the processor chooses: on the simulated GPU, a random kernel writes nothing."""
    return torch.randint(0, vocabulary, (batch, length)).cuda()


class Samples(torch.utils.data.Dataset):
    """Sequences for a trainer that wants a dataset."""

    def __init__(self, length, count=64):
        self.length, self.count = length, count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        line = torch.full((self.length,), index % 100)
        return {"input_ids": line, "attention_mask": torch.ones_like(line), "labels": line}


def report(**more):
    """Prints the peaks and the allocator of this rank as the last line."""
    torch.cuda.synchronize()
    peaks = {"allocated": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
    own = {"rank": int(os.environ.get("RANK", 0)), "allocator": torch.cuda.memory.get_allocator_backend()}
    print(json.dumps(own | peaks | more), flush=True)
