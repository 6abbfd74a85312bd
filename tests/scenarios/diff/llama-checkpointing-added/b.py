"""Llama of transformers, made from a config, trained on random tokens."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

# It has to fit beside the other job on the same GPU.
SAVE_MEMORY = True

config = LlamaConfig(
    vocab_size=4096,
    hidden_size=512,
    intermediate_size=1536,
    num_hidden_layers=8,
    num_attention_heads=8,
    num_key_value_heads=8,
    max_position_embeddings=1024,
    use_cache=False,
)


def main():
    with torch.device("cuda"):
        model = LlamaForCausalLM(config)
    if SAVE_MEMORY:
        model.gradient_checkpointing_enable()
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    for step in range(4):
        ids = torch.randint(config.vocab_size, (8, 512), device="cuda")
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(step, loss.item())
    print(f"peak_allocated={torch.cuda.max_memory_allocated()}")


if __name__ == "__main__":
    main()
