"""Generates with vLLM: a small Llama of random weights, from a configuration, without a tokenizer."""

import argparse
import json
import os
import pathlib
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("--compiled", action="store_true", help="with torch.compile and CUDA graphs, as by default")
parser.add_argument("--gpus", type=int, default=1, help="GPUs by tensor parallelism")
parser.add_argument("--use", type=float, default=0.9, help="the share of the GPU's memory that vLLM takes")
parser.add_argument("--length", type=int, default=2048)
parser.add_argument("--new", type=int, default=16)
arguments = parser.parse_args()

LLAMA_1B = dict(
    architectures=["LlamaForCausalLM"], model_type="llama", hidden_size=2048, intermediate_size=8192,
    num_hidden_layers=16, num_attention_heads=32, num_key_value_heads=8, vocab_size=128256, rms_norm_eps=1e-5,
    max_position_embeddings=131072, tie_word_embeddings=True, torch_dtype="bfloat16", hidden_act="silu",
    bos_token_id=1, eos_token_id=2, head_dim=64, rope_theta=500000.0,
)


def allocator(_):
    import torch

    return torch.cuda.memory.get_allocator_backend()


def main():
    # The workers are asked for their allocator by a function, which must be sent to them.
    os.environ["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    from vllm import LLM, SamplingParams

    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "config.json").write_text(json.dumps(LLAMA_1B))
        engine = LLM(
            model=folder, load_format="dummy", skip_tokenizer_init=True, dtype="bfloat16",
            enforce_eager=not arguments.compiled, tensor_parallel_size=arguments.gpus,
            gpu_memory_utilization=arguments.use, max_model_len=arguments.length,
        )
        settings = SamplingParams(max_tokens=arguments.new, ignore_eos=True, detokenize=False, temperature=0.0)
        made = engine.generate([{"prompt_token_ids": list(range(5, 69))}] * 4, settings)
        counts = [len(one.outputs[0].token_ids) for one in made]
        for name in engine.collective_rpc(allocator):
            print(json.dumps({"tokens": counts, "allocator": name}), flush=True)


if __name__ == "__main__":
    main()
