"""Trains GPT-2 sharded over all ranks: torchrun fsdp_gpt2.py [--size 124m|1.5b] [--api fsdp1] [--bf16].

Each rank prints its peaks, and beside them what the formulas for its shards give.
"""

import argparse
import json
import os

import torch
import torch.distributed as dist
from gpt2 import GPT2, SIZES, Block, Config

FP32 = 4


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", choices=SIZES, default="124m")
    parser.add_argument("--api", choices=["fsdp1", "fsdp2"], default="fsdp2")
    parser.add_argument("--batch", type=int, default=1, help="sequences for each rank")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--bf16", action="store_true", help="compute in bfloat16, reduce in float32")
    return parser.parse_args()


def sharded_by_parameter(model, bf16):
    """FSDP2: each parameter is split along its first dimension."""
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mixed = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if bf16 else MixedPrecisionPolicy()
    for block in model.blocks:
        fully_shard(block, mp_policy=mixed)
    return fully_shard(model, mp_policy=mixed)


def sharded_by_block(model, bf16):
    """FSDP1: the parameters of a block are laid end to end, and that is split."""
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    mixed = MixedPrecision(torch.bfloat16, torch.float32) if bf16 else None
    return FullyShardedDataParallel(
        model,
        auto_wrap_policy=ModuleWrapPolicy({Block}),
        mixed_precision=mixed,
        use_orig_params=True,
        device_id=torch.cuda.current_device(),
    )


def elements(config, world, by_parameter):
    """Elements that a rank keeps, and of what is gathered: a block, and all that is in no block."""
    with torch.device("meta"):
        model = GPT2(config)
    block = list(model.blocks[0].parameters())
    inside = {id(p) for b in model.blocks for p in b.parameters()}
    root = [p for p in model.parameters() if id(p) not in inside]

    def shard(parameters):
        if by_parameter:
            return sum(-(-p.shape[0] // world) * p.numel() // p.shape[0] for p in parameters)
        return -(-sum(p.numel() for p in parameters) // world)

    return {
        "shard": config.layers * shard(block) + shard(root),
        "block": sum(p.numel() for p in block),
        "root": sum(p.numel() for p in root),
    }


def formula(args, config, world):
    """Bytes by part. Shards stay in float32; what is gathered has the type that is computed in."""
    count = elements(config, world, args.api == "fsdp2")
    compute = 2 if args.bf16 else FP32
    return {
        "parameters": FP32 * count["shard"],
        "gradients": FP32 * count["shard"],
        "optimizer": 2 * FP32 * count["shard"],
        # AdamW works on all shards at once and keeps one value for each element meanwhile.
        "optimizer_step": FP32 * count["shard"],
        # While a block is computed the next one is gathered, through a buffer of the same size.
        "gathered_blocks": 3 * compute * count["block"],
        "gathered_root": compute * count["root"],
        # Unsharded gradients: of two blocks and of the root, then once more to be reduced.
        "whole_gradients": 2 * compute * count["block"] + 2 * compute * count["root"],
        "reduced_gradients": FP32 * (count["root"] + 2 * count["block"]),
        # Logits of every token: themselves, in float32, and the gradients of both.
        "logits": args.batch * config.context * config.vocabulary * 2 * (FP32 + compute),
    }


def requested():
    """Bytes in use as they were asked for: the allocator rounds them up."""
    return torch.cuda.memory_stats()["requested_bytes.all.current"]


class Phases:
    """The peak of each phase of a step."""

    def __init__(self):
        self.peaks = {}

    def run(self, name, work):
        torch.cuda.reset_peak_memory_stats()
        result = work()
        torch.cuda.synchronize()
        self.peaks[name] = torch.cuda.max_memory_allocated()
        return result


def train(args, config, model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    ids = torch.zeros(args.batch, config.context, dtype=torch.long, device="cuda")
    phases, figures = Phases(), {}
    for _ in range(args.steps):
        optimizer.zero_grad()
        before = torch.cuda.memory_allocated()
        loss = phases.run("forward", lambda: model(ids, ids))
        figures["kept_by_forward"] = torch.cuda.memory_allocated() - before
        phases.run("backward", loss.backward)
        del loss
        phases.run("step", optimizer.step)
        figures["persistent"] = requested()
        figures["rounding"] = torch.cuda.memory_allocated() - requested()
    return {**figures, "peaks": phases.peaks, "peak_allocated": max(phases.peaks.values())}


def main():
    args = arguments()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    config = Config(*SIZES[args.size])
    with torch.device("cuda"):
        model = GPT2(config)
    shard = sharded_by_parameter if args.api == "fsdp2" else sharded_by_block
    model = shard(model, args.bf16)
    torch.cuda.empty_cache()

    figures = train(args, config, model)
    free, total = torch.cuda.mem_get_info()
    print(json.dumps({
        "rank": dist.get_rank(),
        "world": dist.get_world_size(),
        **figures,
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "outside_allocator": total - free - torch.cuda.memory_reserved(),
        "formula": formula(args, config, dist.get_world_size()),
    }), flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
