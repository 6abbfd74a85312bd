"""A model is read shard by shard, 120 tensors put on the GPU one after another, and then asked five
questions. Memory climbs through nearly the whole run because nearly the whole run is loading."""

import torch


def shards():
    for number in range(120):
        yield f"layers.{number}.weight", torch.zeros(1024, 2048, dtype=torch.float16)


@torch.no_grad()
def main() -> None:
    weights: dict[str, torch.Tensor] = {}
    for name, tensor in shards():
        weights[name] = tensor.to("cuda").t().contiguous()
    for _ in range(5):
        state = torch.randn(16, 2048, device="cuda", dtype=torch.float16)
        for weight in weights.values():
            state = (state @ weight).repeat(1, 2)
    print("loaded", len(weights), tuple(state.shape))


main()
